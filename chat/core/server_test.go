package core

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
	"weir/internal/disk"
	"weir/internal/disk/simdisk"
	"weir/internal/durable"
)

// server is a chat in a shell that a test starts and stops.
type server struct {
	t    *testing.T
	o    Options
	dir  string
	chat *shell // nil while it does not run
	now  time.Time
	disk *simdisk.Disk

	random *rand.Rand // see shell.random
}

func startServer(t *testing.T, o Options) *server {
	t.Helper()
	s := newServer(t, o)
	t.Cleanup(func() { s.halt() })
	return s
}

func newServer(t *testing.T, o Options) *server {
	s := &server{t: t, o: o, dir: dataDir, now: epoch, disk: simdisk.New(1)}
	s.o.Disk = s.disk.Process()
	return s
}

// run starts the server unless it runs.
func (s *server) run() *server {
	s.t.Helper()
	if s.chat != nil {
		return s
	}
	chat, err := openShell(s.t, s.o, s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	chat.random = s.random
	s.chat = chat
	return s
}

// halt stops the server as SIGTERM does.
func (s *server) halt() {
	s.t.Helper()
	if s.chat == nil {
		return
	}
	if err := s.chat.close(); err != nil {
		s.t.Errorf("close: got %v, want nil", err)
	}
	s.now, s.chat = s.chat.clock, nil
}

// account creates an account, whether the server runs or not.
func (s *server) account(name, password string, role account.Role) {
	s.t.Helper()
	if err := (durable.Files{Disk: s.o.Disk}).MkdirAll(s.dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	store, err := account.Open(s.dir, account.Options{Disk: s.o.Disk, Iterations: 4096})
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Add(name, password, role, false); err != nil {
		s.t.Fatal(err)
	}
}

// kill ends the server as SIGKILL does.
func (s *server) kill() {
	s.now, s.chat = s.chat.clock, nil
	s.o.Disk = s.disk.Process()
}

// orders is the number of orders in which a test is run: that of the causes, and random ones.
const orders = 4

// inOrder lets the server, which does not run yet, take its steps in an order.
func (s *server) inOrder(seed uint64) {
	if seed > 0 {
		s.random = rand.New(rand.NewPCG(seed, 0))
	}
}

// inAnyOrder runs a test with the steps of the server in the order of their causes, and in some
// random orders.
func inAnyOrder(t *testing.T, f func(t *testing.T, s *server)) { inAnyOrderWith(t, Options{}, f) }

func inAnyOrderWith(t *testing.T, o Options, f func(t *testing.T, s *server)) {
	for seed := range uint64(orders) {
		t.Run(fmt.Sprintf("order %d", seed), func(t *testing.T) {
			s := startServer(t, o)
			s.inOrder(seed)
			f(t, s.run())
		})
	}
}

// client is an IRC client of a test.
type client struct {
	*conn
	t    *testing.T
	name string
}

// client connects from this machine.
func (s *server) client(name string) *client {
	s.t.Helper()
	return s.clientFrom(name, Peer{Addr: netip.MustParseAddr("127.0.0.1")})
}

// clientFrom connects from elsewhere.
func (s *server) clientFrom(name string, from Peer) *client {
	return &client{conn: s.chat.connect(from), t: s.t, name: name}
}

// user returns a client that has registered.
func (s *server) user(name string, caps ...string) *client {
	s.t.Helper()
	return s.client(name).register(caps...)
}

func (c *client) register(caps ...string) *client {
	c.t.Helper()
	if len(caps) > 0 {
		c.send("CAP REQ :" + strings.Join(caps, " "))
	}
	c.send("NICK "+c.name, "USER "+c.name+" 0 * :"+c.name)
	if len(caps) > 0 {
		c.send("CAP END")
	}
	c.until(" 221 " + c.name)
	return c
}

// loggedIn returns a client of an account with the password "correct horse".
func (s *server) loggedIn(name string, caps ...string) *client {
	s.t.Helper()
	c := s.client(name)
	c.send("CAP REQ :"+strings.Join(append(caps, "sasl"), " "), "NICK "+name, "USER "+name+" 0 * :"+name, "AUTHENTICATE PLAIN", "AUTHENTICATE "+plain(name, "correct horse"), "CAP END")
	c.until(" 221 " + name)
	return c
}

// plain returns the response of SASL PLAIN.
func plain(login, password string) string {
	return base64.StdEncoding.EncodeToString([]byte("\x00" + login + "\x00" + password))
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	if c.ended {
		c.t.Fatalf("%s cannot send %q: its connection has ended", c.name, lines)
	}
	c.in = append(c.in, strings.Join(lines, "\r\n")+"\r\n"...)
}

// raw sends bytes unchanged.
func (c *client) raw(text string) { c.in = append(c.in, text...) }

// hangUp closes the connection.
func (c *client) hangUp() { c.hungUp = true }

// line returns the next line without its end; ok is false when the connection has ended.
func (c *client) line() (line string, ok bool) {
	c.t.Helper()
	c.shell.waitFor(func() bool { return bytes.IndexByte(c.out, '\n') >= 0 || c.ended })
	next, rest, ok := bytes.Cut(c.out, []byte{'\n'})
	if !ok {
		return "", false
	}
	c.out = rest
	return strings.TrimRight(string(next), "\r"), true
}

// next returns the next line that the client receives.
func (c *client) next() string {
	c.t.Helper()
	line, ok := c.line()
	if !ok {
		c.t.Fatalf("%s: the connection ended, want a further line", c.name)
	}
	return line
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

// stateFile returns the contents of a room's state file.
func (s *server) stateFile(room string) string {
	s.t.Helper()
	state, err := disk.ReadFile(s.o.Disk, filepath.Join(s.dir, "rooms", room, "state"))
	if err != nil {
		s.t.Error(err)
	}
	return string(state)
}

// block prevents a file of the data directory from being replaced: it creates a folder that has the
// name of the temporary file. unblock removes that folder.
func (s *server) block(file string) (unblock func()) {
	s.t.Helper()
	temp := filepath.Join(s.dir, filepath.Dir(file), "."+filepath.Base(file)+".tmp")
	for _, dir := range []string{temp, filepath.Join(temp, "in the way")} {
		if err := s.o.Disk.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			s.t.Fatal(err)
		}
	}
	return func() {
		if err := s.o.Disk.RemoveAll(temp); err != nil {
			s.t.Error(err)
		}
	}
}
