package tcpip

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// A Dial that starts while the stack closes ends too.
func TestCloseEndsAConcurrentDial(t *testing.T) {
	for range 100 {
		la, lb := link.Pair(link.PairConfig{})
		s, err := New(Config{Link: la, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}})
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 64) // from each dial, once
		begin := make(chan struct{})   // closed when all must start
		for range cap(failed) {
			go func() {
				<-begin
				_, err := s.Dial("tcp", "10.0.0.2:80")
				failed <- err
			}()
		}
		close(begin)
		s.Close()
		for range cap(failed) {
			select {
			case err := <-failed:
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("a Dial ended with %v, want net.ErrClosed", err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("a Dial did not return within 30 s of Close, want net.ErrClosed")
			}
		}
		lb.Close()
	}
}

// A connection whose handshake completes while its listener closes does not stay in the accept
// queue, where it would never be accepted.
func TestClosingAListenerEmptiesItsAcceptQueue(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cfg := tcp.Config{}.WithDefaults()
	for i := range 20_000 {
		l, err := (&ListenConfig{Stack: s}).listen("tcp", "127.0.0.1:80", nil)
		if err != nil {
			t.Fatal(err)
		}
		c := s.newConn(s.ifaces[0].readers[0], nth(i))
		c.initState(tcp.Accept(&cfg, 1, 1, &tcp.Segment{Flags: wire.SYN}, s.now()))
		l.reserve(netip.Addr{})
		var offered bool
		var both sync.WaitGroup
		both.Go(func() { offered = l.enqueue(c) })
		both.Go(func() { l.Close() })
		both.Wait()
		if offered && len(l.acceptQueue) > 0 {
			t.Fatalf("connection %d is in the accept queue of a closed listener, want it refused or reset", i)
		}
	}
}

// Closing a listener frees the memory of connections that were not accepted.
func TestClosingAListenerFreesMemory(t *testing.T) {
	for _, reset := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := stack(t, Config{})
			l := listen(t, s, "127.0.0.1:80")
			c := dial(t, s, "tcp", "127.0.0.1:80")
			c.Write(make([]byte, 3000)) //nolint:errcheck // the memory tells
			synctest.Wait()
			if reset { // before the listener closes
				c.(*Conn).SetLinger(0) //nolint:errcheck // the test checks its effect
				c.Close()
				synctest.Wait()
			}
			if held, _ := s.Memory(); held == 0 {
				t.Fatal("the connection in the accept queue holds no data, want what its client sent")
			}
			l.Close()
			synctest.Wait()
			if _, err := c.Read(make([]byte, 1)); err == nil || err == io.EOF {
				t.Errorf("a connection that was never accepted ended with %v, want a reset", err)
			}
			c.Close()
			if held, _ := s.Memory(); held != 0 {
				t.Errorf("%d bytes are still in use, want 0", held)
			}
		})
	}
}

// A link that closes ends its connections, because its reader ran their timers. Connections over
// the loopback go on.
func TestAClosedLinkEndsItsConnections(t *testing.T) {
	la, lb := link.Pair(link.PairConfig{})
	a := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")})
	b := stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24")})
	listen(t, b, ":80")
	within := listen(t, a, "127.0.0.1:80")
	c := dial(t, a, "tcp", "10.0.0.2:80")
	read := make(chan error, 1) // the result of a read, once
	go func() {
		_, err := c.Read(make([]byte, 1))
		read <- err
	}()
	la.Close()
	if err := <-read; !errors.Is(err, syscall.ECONNABORTED) {
		t.Errorf("a Read ended with %v, want ECONNABORTED", err)
	}
	for range 3 {
		if _, err := a.Dial("tcp", "10.0.0.2:80"); !errors.Is(err, syscall.ECONNABORTED) {
			t.Errorf("a Dial ended with %v, want ECONNABORTED", err)
		}
	}
	d := dial(t, a, "tcp", within.Addr().String())
	if _, err := d.Write([]byte("x")); err != nil {
		t.Error(err)
	}
}
