package host

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weir/serve"
)

// waitLimit is how long a test waits for an event.
const waitLimit = 30 * time.Second

// journal is a log that is read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(waitLimit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %v, want: %s", waitLimit, what)
		}
	}
}

func (j *journal) wait(t *testing.T, text string) {
	t.Helper()
	waitFor(t, "the log holds "+text, func() bool { return strings.Contains(j.String(), text) })
}

// running is a host that runs.
type running struct {
	*Host
	t     *testing.T
	log   *journal
	addrs map[string][]string // by entrance
	stop  func()              // and waits; may be called more than once
}

// start runs a configuration until the test ends. Addresses that are not said are free ports of
// this machine.
func start(t *testing.T, c Config) *running {
	t.Helper()
	r := prepare(t, c)
	r.run(r.Host.Run)
	return r
}

// prepare is start, for who runs it.
func prepare(t *testing.T, c Config) *running {
	t.Helper()
	r := &running{t: t, log: new(journal), addrs: map[string][]string{}}
	if c.Data == "" {
		c.Data = t.TempDir()
	}
	if c.Listen == nil {
		c.Listen = []string{"127.0.0.1:0"}
	}
	var err error
	r.Host, err = Open(c, Events{Output: r.log, Listening: func(what string, a net.Addr) { r.addrs[what] = append(r.addrs[what], a.String()) }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs the host until it is stopped, or the test ends.
func (r *running) run(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(r.t.Context())
	over := make(chan error, 1) // from run -> stop, one value
	go func() { over <- run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			r.t.Errorf("Run: got %v, want nil", err)
		}
	})
	r.t.Cleanup(r.stop)
}

// client is one end of a conversation.
type client struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func (r *running) client(lines ...string) *client {
	r.t.Helper()
	return dial(r.t, r.addrs["irc"][0], lines...)
}

func dial(t *testing.T, addr string, lines ...string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(waitLimit))
	c := &client{t, conn, bufio.NewReader(conn)}
	c.send(lines...)
	return c
}

// user is a client that has registered.
func (r *running) user(nick string, lines ...string) *client {
	r.t.Helper()
	c := r.client("NICK "+nick, "USER "+nick+" 0 * :"+nick)
	c.until(" 221 ")
	c.send(lines...)
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := c.conn.Write([]byte(strings.Join(append(lines, ""), "\r\n"))); err != nil {
		c.t.Fatal(err)
	}
}

// until reads up to a line that holds a text, and returns it.
func (c *client) until(text string) string {
	c.t.Helper()
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			c.t.Fatalf("want a line with %q: %v", text, err)
		}
		if strings.Contains(line, text) {
			return strings.TrimRight(line, "\r\n")
		}
	}
}

func TestEveryAddressLeadsToTheSameChat(t *testing.T) {
	r := start(t, Config{Listen: []string{"127.0.0.1:0", "127.0.0.1:0"}, Web: Web{Listen: []string{"127.0.0.1:0", "127.0.0.1:0"}}})
	if len(r.addrs["irc"]) != 2 || len(r.addrs["web"]) != 2 {
		t.Fatalf("got the listeners %v, want one for each address", r.addrs)
	}
	ann := r.user("ann", "JOIN #a")
	ann.until(" 366 ")
	bob := dial(t, r.addrs["irc"][1], "NICK bob", "USER bob 0 * :bob", "JOIN #a", "PRIVMSG #a :hello")
	bob.until(" 366 ")
	ann.until("PRIVMSG #a :hello")
}

func TestNoListenersAreValid(t *testing.T) {
	r := start(t, Config{Listen: []string{}, Web: Web{Listen: []string{"127.0.0.1:0"}}})
	if len(r.addrs["irc"]) != 0 {
		t.Errorf("got the listeners %v, want none", r.addrs)
	}
}

// Messages sent before a stop are stored and acknowledged, and the addresses are free after it.
func TestAStopStoresAllMessages(t *testing.T) {
	data := t.TempDir()
	r := start(t, Config{Data: data})
	ann := r.user("ann", "JOIN #a", "PRIVMSG #a :last words", "PING :stored")
	ann.until("PONG weir.chat :stored")
	r.stop()
	again := start(t, Config{Data: data, Listen: slices.Clone(r.addrs["irc"])})
	again.user("bob", "JOIN #a").until("last words")
}

func TestErrorsOfOpenNameTheKeyAndCloseEverything(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for key, c := range map[string]Config{
		"listen":     {Data: t.TempDir(), Listen: []string{"127.0.0.1:0", l.Addr().String()}},
		"web.listen": {Data: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Web: Web{Listen: []string{l.Addr().String()}}},
	} {
		_, err := Open(c, Events{})
		if err == nil || !strings.Contains(err.Error(), key+": cannot listen on "+l.Addr().String()) {
			t.Errorf("%s: got %v, want an error that names the key", key, err)
		}
	}
}

// One that fails to go on ends all.
func TestAListenerThatFailsEndsTheRun(t *testing.T) {
	h, err := Open(Config{Data: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Model: "goroutine"}, Events{})
	if err != nil {
		t.Fatal(err)
	}
	h.entrances[0].listener.Close()
	if err := h.Run(t.Context()); err == nil {
		t.Error("Run with a failing listener: got nil, want an error")
	}
}

func TestListenersAreReportedOnlyAfterTheDataIsOpen(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(data, []byte("no folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := new(journal)
	h, err := Open(Config{Data: data, Listen: []string{"127.0.0.1:0"}}, Events{Output: said,
		Listening: func(what string, a net.Addr) { t.Errorf("Listening was called for %s on %s, want no call", what, a) }})
	if err == nil {
		h.Close()
		t.Fatal("Open of a file as data directory: got nil, want an error")
	}
	if strings.Contains(said.String(), "listening") {
		t.Errorf("got the log %q, want no listener in it", said)
	}
}

// A commit that waits for the disk must not hold the last free processor of the Go runtime.
func TestALoopLeavesProcessorsForCommits(t *testing.T) {
	before := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(before)
	h := &Host{entrances: []*entrance{{way: serve.Loop}, {way: serve.Goroutine}}}
	h.config.Store(&Config{Loops: 3})
	h.reserveProcessors()
	if got := runtime.GOMAXPROCS(0); got != 5 {
		t.Errorf("GOMAXPROCS is %d with three loops, want 5: one for each, one for a commit and one that is idle", got)
	}
}
