package chat

import (
	"bufio"
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/chat/account"
	"weir/serve"
)

// testTimeout is how long a test waits for an expected event.
const testTimeout = 30 * time.Second

// server is a chat on real sockets under one concurrency model.
type server struct {
	t    *testing.T
	way  serve.Way
	o    Options
	dir  string
	addr string

	chat    *Service
	stop    func()
	runDone chan error // from serve.Run -> halt; one value

	inputs, ends atomic.Int64 // calls of Input and Close that have returned
	mu           sync.Mutex   // guards conns
	conns        []serve.Conn // that were opened
}

// watched is a service whose calls are counted.
func (s *server) watched(chat *Service) serve.Service {
	service := chat.Sessions()
	open := service.Open
	service.Open = func(c serve.Conn) serve.Session {
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		session, ok := open(c).(*connection)
		if !ok {
			return nil
		}
		return watchedSession{session, s}
	}
	return service
}

type watchedSession struct {
	*connection
	server *server
}

func (w watchedSession) Input(in []byte, to *serve.Writer) error {
	defer w.server.inputs.Add(1)
	return w.connection.Input(in, to)
}

func (w watchedSession) Close(err error) {
	defer w.server.ends.Add(1)
	w.connection.Close(err)
}

// testWays returns the concurrency models that a chat supports.
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

// run starts the server unless it runs.
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
	s.chat, s.addr, s.runDone = chat, l.Addr().String(), make(chan error, 1)
	go func() {
		s.runDone <- serve.Run(ctx, s.way, l, s.watched(chat), serve.Options{SendQueue: Outbox, Workers: 100, DrainTimeout: testTimeout})
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
	if err := <-s.runDone; err != nil {
		s.t.Errorf("serve.Run: got %v, want nil", err)
	}
	if err := s.chat.Close(); err != nil {
		s.t.Errorf("Close: got %v, want nil", err)
	}
	s.chat = nil
}

// account creates an account, whether the server runs or not.
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

// client is an IRC client of a test.
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

// user returns a client that has registered.
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
	c.conn.SetWriteDeadline(time.Now().Add(testTimeout))
	if _, err := c.conn.Write([]byte(strings.Join(lines, "\r\n") + "\r\n")); err != nil {
		c.t.Fatalf("%s cannot send %q: %v", c.name, lines, err)
	}
}

// line returns the next line without its end; ok is false when the connection has ended.
func (c *client) line() (line string, ok bool) {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(testTimeout))
	line, err := c.r.ReadString('\n')
	if e, is := err.(net.Error); is && e.Timeout() {
		c.t.Fatalf("%s received nothing for %v, want a line or the end of the connection", c.name, testTimeout)
	}
	return strings.TrimRight(line, "\r\n"), err == nil
}

// until reads lines up to the first that contains a text, and returns that line.
func (c *client) until(text string) string {
	c.t.Helper()
	for {
		line, ok := c.line()
		if !ok {
			c.t.Fatalf("%s: the connection ended, want a line with %q", c.name, text)
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

// sync waits until the server has handled all input of the client, and returns the lines that it
// sent meanwhile.
func (c *client) sync() (lines []string) {
	c.t.Helper()
	c.send("PING :synced?")
	for {
		line, ok := c.line()
		if !ok {
			c.t.Fatalf("%s: the connection ended, want a further line", c.name)
		}
		if strings.HasSuffix(line, " :synced?") {
			return lines
		}
		lines = append(lines, line)
	}
}
