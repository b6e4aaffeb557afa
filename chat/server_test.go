package chat

import (
	"bufio"
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/chat/account"
	"weir/serve"
)

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

// server is a chat that serves real sockets in one of the ways.
type server struct {
	t    *testing.T
	way  serve.Way
	o    Options
	dir  string
	addr string

	chat *Service
	stop func()
	over chan error // from Run -> halt, one value
}

// testWays are the ways that a chat runs under.
func testWays() []serve.Way {
	if runtime.GOOS == "linux" {
		return []serve.Way{serve.Loop, serve.Goroutine, serve.Pool, serve.Coroutine}
	}
	return []serve.Way{serve.Goroutine, serve.Pool}
}

func startServer(t *testing.T, way serve.Way, o Options) *server {
	t.Helper()
	s := &server{t: t, way: way, o: o, dir: t.TempDir()}
	t.Cleanup(func() { s.halt() })
	return s
}

// run starts the server, if it does not run.
func (s *server) run() *server {
	s.t.Helper()
	if s.chat != nil {
		return s
	}
	chat, err := Open(s.dir, s.o)
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.chat, s.addr, s.over = chat, l.Addr().String(), make(chan error, 1)
	go func() {
		s.over <- serve.Run(ctx, s.way, l, chat.Sessions(), serve.Options{SendQueue: Outbox, Workers: 100, DrainTimeout: patience})
	}()
	var once sync.Once
	s.stop = func() { once.Do(stop) }
	return s
}

// halt stops the server as SIGTERM does.
func (s *server) halt() {
	s.t.Helper()
	if s.chat == nil {
		return
	}
	s.stop()
	if err := <-s.over; err != nil {
		s.t.Errorf("serve.Run: %v", err)
	}
	if err := s.chat.Close(); err != nil {
		s.t.Errorf("Close: %v", err)
	}
	s.chat = nil
}

// account makes an account while the server does not run, or does.
func (s *server) account(name, password string, role account.Role) {
	s.t.Helper()
	store, err := account.Open(s.dir, account.Options{Iterations: 4096})
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Add(name, password, role, false); err != nil {
		s.t.Fatal(err)
	}
}

// client is one end of a conversation.
type client struct {
	t    *testing.T
	name string
	conn net.Conn
	r    *bufio.Reader
}

func (s *server) client(name string) *client {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.clientOn(name, conn)
}

func (s *server) clientOn(name string, conn net.Conn) *client {
	s.t.Cleanup(func() { conn.Close() })
	return &client{t: s.t, name: name, conn: conn, r: bufio.NewReaderSize(conn, 64<<10)}
}

// user is a client that has registered.
func (s *server) user(name string, caps ...string) *client {
	s.t.Helper()
	c := s.client(name)
	if len(caps) > 0 {
		c.send("CAP REQ :" + strings.Join(caps, " "))
	}
	c.send("NICK "+name, "USER "+name+" 0 * :"+name)
	if len(caps) > 0 {
		c.send("CAP END")
	}
	c.until(" 221 " + name)
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	c.conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := c.conn.Write([]byte(strings.Join(lines, "\r\n") + "\r\n")); err != nil {
		c.t.Fatalf("%s cannot send %q: %v", c.name, lines, err)
	}
}

// line is the next line, without its end; ok is false when the connection has ended.
func (c *client) line() (line string, ok bool) {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(patience))
	line, err := c.r.ReadString('\n')
	if e, is := err.(net.Error); is && e.Timeout() {
		c.t.Fatalf("%s is told nothing for %v", c.name, patience)
	}
	return strings.TrimRight(line, "\r\n"), err == nil
}

// until reads lines up to the first that contains a text, and returns it.
func (c *client) until(text string) string {
	c.t.Helper()
	for {
		line, ok := c.line()
		if !ok {
			c.t.Fatalf("%s: the connection ended before %q", c.name, text)
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

// settled waits until all that the client said has been handled, and returns what it was told
// meanwhile.
func (c *client) settled() (lines []string) {
	c.t.Helper()
	c.send("PING :settled?")
	for {
		line, ok := c.line()
		if !ok {
			c.t.Fatalf("%s: the connection ended", c.name)
		}
		if strings.HasSuffix(line, " :settled?") {
			return lines
		}
		lines = append(lines, line)
	}
}
