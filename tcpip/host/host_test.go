package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/tcpip"
	"weir/tcpip/link"
)

// waitLimit is how long a test waits for an expected event.
const waitLimit = 30 * time.Second

// neighbours returns a host with services and a control socket at 10.0.0.2, and a stack on the
// other end of its link in memory.
func neighbours(t *testing.T, services ...Service) (Client, *tcpip.Stack) {
	t.Helper()
	c, peers := linked(t, []Link{{Name: "weir0", Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}}}, services...)
	s, err := tcpip.New(tcpip.Config{Link: peers[0], Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, s
}

// linked returns a host with links in memory, services and a control socket, and the other ends of
// its links.
func linked(t *testing.T, links []Link, services ...Service) (c Client, peers []link.Link) {
	t.Helper()
	h := &Host{startedAt: time.Now(), linkFailed: make(chan error, 1), conflicts: make(chan tcpip.Conflict, 1), config: Config{Links: links, Services: services,
		Control: filepath.Join(t.TempDir(), "control", SocketName("weir0", ""))}}
	open := func() error {
		for _, l := range links {
			near, far := link.Pair(link.PairConfig{Medium: l.Medium})
			d := &device{config: l}
			h.devices, peers = append(h.devices, d), append(peers, far)
			if err := h.useLink(d, near); err != nil {
				return err
			}
		}
		return nil
	}
	for _, step := range []func() error{h.config.validate, h.openControlSocket, open, func() error { return h.startStack(t.Context()) }, h.listenServices} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	h.run(t)
	return Client{h.config.Control}, peers
}

// run runs the host until the test ends.
func (h *Host) run(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1) // Run's result, one
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, h.Close()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(h.config.Control); err == nil {
			t.Error("the control socket still exists after Close, want it removed")
		}
	})
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	t.Cleanup(cancel)
	return ctx
}

func TestServicesEchoDiscardAndSend(t *testing.T) {
	_, s := neighbours(t, Echo(7), Discard(9), Source(19))
	text := make([]byte, 300_000)
	rand.Read(text) //nolint:errcheck // it never fails
	for port, want := range map[string][]byte{"7": text, "9": {}} {
		c, err := s.Dial("tcp", "10.0.0.2:"+port)
		if err != nil {
			t.Fatal(err)
		}
		go func() { // until all is written, or the connection closed
			c.Write(text) //nolint:errcheck // what comes back tells
			closeWrite(c)
		}()
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
			t.Errorf("port %s: %d bytes came back, want %d (%v)", port, len(got), len(want), err)
		}
		c.Close()
	}
	c, err := s.Dial("tcp", "10.0.0.2:19")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.ReadFull(c, make([]byte, 1_000_000)); err != nil {
		t.Error(err)
	}
}

func TestAClientPings(t *testing.T) {
	c, _ := neighbours(t)
	ctx := within(t)
	for _, size := range []int{0, 56, 3000} {
		if addr, took, err := c.Ping(ctx, "10.0.0.1", size, waitLimit); err != nil || addr.String() != "10.0.0.1" || took <= 0 {
			t.Errorf("a ping of %d bytes: got %v in %v, error %v; want 10.0.0.1 after some time", size, addr, took, err)
		}
	}
	_, _, err := c.Ping(ctx, "10.0.0.77", 1, 20*time.Millisecond)
	if said, ok := errors.AsType[*Error](err); !ok || !said.Timeout() {
		t.Errorf("pinging an address without a host: got error %v, want an Error that is a timeout", err)
	}
	if _, _, err := c.Ping(ctx, "10.0.0.1", 70_000, waitLimit); err == nil || !strings.Contains(err.Error(), "65507") {
		t.Errorf("a ping of 70000 bytes: got error %v, want one that names the limit 65507", err)
	}
	if _, _, err := c.Ping(ctx, "name.test", 1, waitLimit); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("pinging a name that no server knows: got error %v, want one at once, not DeadlineExceeded", err)
	}
}

func TestAClientConnects(t *testing.T) {
	c, _ := neighbours(t, Echo(7))
	conn, err := c.DialContext(within(t), "tcp", "127.0.0.1:7")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if conn.RemoteAddr().String() != "127.0.0.1:7" || !strings.HasPrefix(conn.LocalAddr().String(), "127.0.0.1:") {
		t.Errorf("got a connection from %v to %v, want one from a port of 127.0.0.1 to 127.0.0.1:7", conn.LocalAddr(), conn.RemoteAddr())
	}
	text := make([]byte, 1_000_000)
	rand.Read(text) //nolint:errcheck // it never fails
	go func() {     // until all is written, or the connection closed
		conn.Write(text) //nolint:errcheck // what comes back tells
		closeWrite(conn)
	}()
	if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, text) {
		t.Errorf("the echo: got %d bytes, error %v; want the %d bytes that were sent", len(got), err, len(text))
	}
}

func TestAClientReceivesErrors(t *testing.T) {
	c, s := neighbours(t)
	ctx := within(t)
	if _, err := c.DialContext(ctx, "tcp", "10.0.0.1:80"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("connecting to a closed port: got error %v, want one that says refused", err)
	}
	l, err := s.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.DialContext(ctx, "tcp", "10.0.0.1:80")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("unread")); err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for s.Connections()[0].Unread == 0 {
		time.Sleep(time.Millisecond)
	}
	other.Close() // what it has not read has it reset
	if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), syscall.ECONNRESET.Error()) {
		t.Errorf("reading after the other end's reset: got error %v, want one that says %q", err, syscall.ECONNRESET.Error())
	}
	if _, err := (Client{c.Path + "x"}).Status(ctx, 0); err == nil || !strings.Contains(err.Error(), "check that it is running") {
		t.Errorf("the status without a running host: got error %v, want one that says to check that it is running", err)
	}
}

// A client that disconnects ends its request.
func TestAClientThatGoesAwayLeavesNothing(t *testing.T) {
	c, s := neighbours(t)
	ctx, cancel := context.WithCancel(t.Context())
	w, err := c.Listen(ctx, "tcp", ":8080")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := w.Accept(); err == nil {
		t.Error("a connection was accepted for a client that is gone, want an error")
	}
	until(t, func() bool { now, err := c.Status(t.Context(), 0); return err == nil && len(now.Listeners) == 0 })
	l, err := s.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	for _, network := range []string{"tcp", "tcp half-closed", "udp"} {
		kind, _, half := strings.Cut(network, " ")
		conn, err := c.DialContext(within(t), kind, "10.0.0.1:80")
		if err != nil {
			t.Fatal(err)
		}
		if half || kind == "udp" { // the client sends no more, and waits for the answer
			closeWrite(conn)
		}
		if kind == "tcp" {
			other, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
		}
		conn.Close()
		until(t, func() bool { // the rest is being closed
			now, err := c.Status(t.Context(), 0)
			return err == nil && len(now.Sockets) == 0 && !slices.ContainsFunc(now.Connections, func(c Connection) bool { return c.State == "ESTABLISHED" })
		})
	}
}

func until(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(waitLimit); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the condition was not true within %v, want it true", waitLimit)
		}
	}
}

func TestAClientListens(t *testing.T) {
	c, s := neighbours(t)
	for _, network := range []string{"tcp", "udp"} {
		w, err := c.Listen(within(t), network, ":8080")
		if err != nil {
			t.Fatal(err)
		}
		other, err := s.Dial(network, "10.0.0.2:8080")
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := other.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		conn, err := w.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		b := make([]byte, 100)
		if n, err := conn.Read(b); err != nil || string(b[:n]) != "hello" || conn.RemoteAddr().String() != other.LocalAddr().String() {
			t.Errorf("%s: got %q from %v, error %v; want %q from %v", network, b[:n], conn.RemoteAddr(), err, "hello", other.LocalAddr())
		}
		if _, err := conn.Write([]byte("and back")); err != nil {
			t.Fatal(err)
		}
		other.SetReadDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // reading tells
		if n, err := other.Read(b); err != nil || string(b[:n]) != "and back" {
			t.Errorf("%s: got %q back, error %v; want %q", network, b[:n], err, "and back")
		}
	}
}

// Datagrams are preserved, empty ones and the largest too.
func TestDatagramsOfAClientArriveWhole(t *testing.T) {
	c, s := neighbours(t)
	p, err := s.ListenPacket("udp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.DialContext(within(t), "udp", "10.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	b, back := make([]byte, 70_000), make([]byte, 70_000)
	for _, size := range []int{1, 0, 1472, 65507} {
		if _, err := conn.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		p.SetReadDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // reading tells
		n, from, err := p.ReadFrom(b)
		if err != nil || n != size {
			t.Fatalf("a datagram of %d bytes: got %d bytes, error %v; want the same number", size, n, err)
		}
		if _, err := p.WriteTo(b[:n], from); err != nil {
			t.Fatal(err)
		}
		conn.SetReadDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // reading tells
		if n, err := conn.Read(back); err != nil || n != size {
			t.Fatalf("the answer of %d bytes: got %d bytes, error %v; want the same number", size, n, err)
		}
	}
}

func TestStatusListsGroups(t *testing.T) {
	near, far := link.Pair(link.PairConfig{})
	defer far.Close()
	d := &device{config: Link{Name: "weir0", Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}}}
	h := &Host{startedAt: time.Now(), devices: []*device{d}, config: Config{Links: []Link{d.config}}}
	for _, step := range []func() error{func() error { return h.useLink(d, near) }, func() error { return h.startStack(t.Context()) }} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	defer h.stack.Close()
	if _, err := h.stack.ListenMulticastUDP("udp", "weir0", &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: 5353}); err != nil {
		t.Fatal(err)
	}
	if got, want := h.Status(0).Groups, []Group{{"224.0.0.251", "weir0", 1}}; !slices.Equal(got, want) {
		t.Errorf("got the groups %+v, want %+v", got, want)
	}
}

func TestStatusListsConnectionsAndListeners(t *testing.T) {
	c, s := neighbours(t, Echo(7))
	conn, err := s.Dial("tcp", "10.0.0.2:7")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	other, err := s.Dial("tcp", "10.0.0.2:7")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var now *Status
	until(t, func() bool { // wait for the last segment of the handshake
		now, err = c.Status(within(t), 1)
		return err != nil || now.Listeners[0].Opening == 0
	})
	if err != nil {
		t.Fatal(err)
	}
	if now.Addr != "10.0.0.2/24" || now.Total != 2 || len(now.Connections) != 1 || now.Connections[0].State != "ESTABLISHED" || now.Connections[0].Local != "10.0.0.2:7" {
		t.Errorf("got the status %+v, want 10.0.0.2/24 with 2 connections, of which one is listed: ESTABLISHED at 10.0.0.2:7", now)
	}
	if len(now.Listeners) != 1 || now.Listeners[0].Service != "echo" || len(now.Neighbours) != 1 || now.Neighbours[0].Addr != "10.0.0.1" || len(now.Routes) == 0 {
		t.Errorf("got the status %+v, want the listener of echo, the neighbour 10.0.0.1, and routes", now)
	}
	if now.Interfaces[0].Name != "weir0" || now.Interfaces[0].Received == 0 {
		t.Errorf("got the interfaces %+v, want weir0 with received frames first", now.Interfaces)
	}
}

func TestAHostIsDrawn(t *testing.T) {
	c, s := neighbours(t)
	if _, err := s.Ping(within(t), netip.MustParseAddr("10.0.0.2"), 1); err != nil {
		t.Fatal(err)
	}
	for form, begin := range map[string]string{"svg": "<svg", "dot": "digraph", "mermaid": "flowchart"} {
		if text, err := c.Draw(within(t), form); err != nil || !strings.HasPrefix(text, begin) || !strings.Contains(text, "fragments") {
			t.Errorf("a drawing as %s: got error %v and this text, want one that starts with %q and has the fragments layer: %s", form, err, begin, text)
		}
	}
	if _, err := c.Draw(within(t), "oil"); err == nil || !strings.Contains(err.Error(), "use svg") {
		t.Errorf("a drawing as oil: got error %v, want one that says %q", err, "use svg")
	}
}

func TestHostsAreFound(t *testing.T) {
	c, _ := neighbours(t)
	folder := filepath.Dir(c.Path)
	// a socket of a host that has ended, and a file that is not a socket
	for name, text := range map[string]string{"old@space.sock": "", "other": ""} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, denied := Find(within(t), filepath.Join(folder, "none"), folder)
	if len(all) != 1 || all[0].Tap != "weir0" || all[0].Namespace != "" || denied != "" {
		t.Errorf("got the hosts %+v, denied %q; want only weir0, and none denied", all, denied)
	}
	if tap, space := parseSocketName("/x/" + SocketName("weir0", "lab")); tap != "weir0" || space != "lab" {
		t.Errorf("parseSocketName: got %q in %q, want weir0 in lab", tap, space)
	}
	if info, err := os.Stat(c.Path); err != nil {
		t.Error(err)
	} else if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the control socket has mode %v, want 0600", mode)
	}
}

func TestImpairmentsChangeAtRuntime(t *testing.T) {
	c, _ := neighbours(t)
	ctx := within(t)
	say := func(text string) string {
		now, err := c.Impair(ctx, "", &text)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	if now := say("loss=100%"); now != "loss=100%" {
		t.Errorf("got the impairments %q, want loss=100%%", now)
	}
	if _, _, err := c.Ping(ctx, "10.0.0.1", 1, 20*time.Millisecond); err == nil {
		t.Error("a reply arrived with loss=100%, want none")
	}
	wrong := "loss=200%"
	if _, err := c.Impair(ctx, "", &wrong); err == nil {
		t.Error("loss=200% was accepted, want an error")
	}
	if now, err := c.Impair(ctx, "", nil); err != nil || now != "loss=100%" {
		t.Errorf("after an invalid change: got the impairments %q, error %v; want loss=100%%", now, err)
	}
	say("off")
	until(t, func() bool { _, _, err := c.Ping(ctx, "10.0.0.1", 1, time.Second); return err == nil })
}

// Malformed requests are rejected, and other clients are still served.
func TestMalformedRequestsAreRejected(t *testing.T) {
	c, _ := neighbours(t, Echo(7))
	for _, text := range []string{"\n", "rubbish\n", strings.Repeat("x", 2*maxRequest) + "\n", `{"do":"format"}` + "\n", `{"do":"dial","network":"carrier pigeon","address":"127.0.0.1:7"}` + "\n",
		`{"do":"dial","network":"tcp","address":"127.0.0.1:7"}` + "\n" + strings.Repeat("\xff", 100)} {
		conn, err := net.Dial("unix", c.Path)
		if err != nil {
			t.Fatal(err)
		}
		conn.Write([]byte(text))                        //nolint:errcheck // it may be refused before its end
		conn.SetReadDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // reading tells
		said, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) || err == nil && len(said) == 0 {
			t.Errorf("%.50q: got the response %q, error %v; want an error in the response, or the connection closed", text, said, err)
		}
		conn.Close()
	}
	if _, err := c.Status(within(t), 0); err != nil {
		t.Error(err)
	}
}
