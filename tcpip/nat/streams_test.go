package nat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/tcpip"
	"weir/tcpip/link"
)

// farEnd is a server with the guest's connection to it.
type farEnd struct {
	guest *tcpip.Conn
	far   *net.TCPConn
}

// joined runs a test with a connection to a server of this machine, by both ways to pass it on and
// in both directions: dialed by the guest, and to a published port.
func joined(t *testing.T, test func(t *testing.T, e farEnd)) {
	for by, c := range map[string]Config{"sockets": {}, "goroutines": {Dial: dialNet}} {
		t.Run("out by "+by, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			host, _ := network(t, link.Ethernet, c)
			near, err := host.Dial("tcp", netip.AddrPortFrom(here[0], portOf(l)).String())
			if err != nil {
				t.Fatal(err)
			}
			far, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			run(t, test, near, far)
		})
		t.Run("in by "+by, func(t *testing.T) {
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			at := netip.MustParseAddrPort(free.Addr().String())
			free.Close()
			c.Publish = []Publish{{"tcp", at, netip.AddrPortFrom(netip.Addr{}, 80)}}
			host, _ := network(t, link.IP, c)
			l, err := host.Listen("tcp", ":80")
			if err != nil {
				t.Fatal(err)
			}
			far, err := net.Dial("tcp", at.String())
			if err != nil {
				t.Fatal(err)
			}
			near, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			run(t, test, near, far)
		})
	}
}

func portOf(l net.Listener) uint16 { return l.Addr().(*net.TCPAddr).AddrPort().Port() }

// run runs a test with the two ends of a connection, and closes them.
func run(t *testing.T, test func(t *testing.T, e farEnd), near, far net.Conn) {
	defer near.Close()
	defer far.Close()
	for _, c := range []net.Conn{near, far} {
		if err := c.SetDeadline(time.Now().Add(waitLimit)); err != nil {
			t.Fatal(err)
		}
	}
	test(t, farEnd{near.(*tcpip.Conn), far.(*net.TCPConn)})
}

// halfCloser is an end of a connection.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// After one direction has ended, the other one goes on.
func TestDirectionsEndSeparately(t *testing.T) {
	joined(t, func(t *testing.T, e farEnd) {
		for _, ends := range [][2]halfCloser{{e.guest, e.far}, {e.far, e.guest}} {
			first, second := ends[0], ends[1]
			if _, err := io.WriteString(first, "the end"); err != nil {
				t.Fatal(err)
			}
			first.CloseWrite() //nolint:errcheck // the other end shows it
			if got, err := io.ReadAll(second); err != nil || string(got) != "the end" {
				t.Errorf("got %q and %v, want %q", got, err, "the end")
			}
		}
	})
}

// One direction carries data after the other one has ended.
func TestADirectionGoesOnAlone(t *testing.T) {
	data := bytes.Repeat([]byte("weir"), 1<<20)
	joined(t, func(t *testing.T, e farEnd) {
		e.far.CloseWrite() //nolint:errcheck // the guest shows it
		if n, err := e.guest.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Fatalf("the guest got %d bytes and %v, want the end", n, err)
		}
		go func() {
			e.guest.Write(data)  //nolint:errcheck // the far end shows it
			e.guest.CloseWrite() //nolint:errcheck // as above
		}()
		if got, err := io.ReadAll(e.far); err != nil || !bytes.Equal(got, data) {
			t.Errorf("the far end got %d bytes and %v, want the %d that were sent", len(got), err, len(data))
		}
	})
}

// Both ends send more than all buffers hold before they read: each waits, and nothing is lost.
func TestFullBuffersDelayTheSender(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<19)
	joined(t, func(t *testing.T, e farEnd) {
		var all sync.WaitGroup
		sent := make(chan struct{}, 2) // a direction is sent; to both readers
		for _, ends := range [][2]halfCloser{{e.guest, e.far}, {e.far, e.guest}} {
			all.Go(func() {
				ends[0].Write(data[:len(data)/2]) //nolint:errcheck // the other end shows it
				ends[0].Write(data[len(data)/2:]) //nolint:errcheck // as above
				ends[0].CloseWrite()              //nolint:errcheck // as above
			})
			all.Go(func() {
				// the guest's direction is full before anything reads it
				if ends[0] == halfCloser(e.far) {
					sent <- struct{}{}
				} else {
					<-sent
				}
				if got, err := io.ReadAll(ends[1]); err != nil || !bytes.Equal(got, data) {
					t.Errorf("got %d bytes and %v, want the %d that were sent", len(got), err, len(data))
				}
			})
		}
		all.Wait()
	})
}

func TestResetsPass(t *testing.T) {
	joined(t, func(t *testing.T, e farEnd) {
		e.guest.SetLinger(0) //nolint:errcheck // the far end shows it
		e.guest.Close()
		if _, err := e.far.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the guest has reset: the far end got %v, want connection reset", err)
		}
	})
	joined(t, func(t *testing.T, e farEnd) {
		e.far.SetLinger(0) //nolint:errcheck // the guest shows it
		e.far.Close()
		if _, err := e.guest.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the far end has reset: the guest got %v, want connection reset", err)
		}
	})
}

// A guest that is gone when the connection onward is there, and so answers with a RST, resets that.
func TestAResetInTheHandshakePasses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	gone := make(chan struct{}) // closed when the guest has ended its attempt
	guest, _ := network(t, link.IP, Config{Dial: func(ctx context.Context, network string, _ netip.AddrPort) (net.Conn, error) {
		cancel()
		<-gone
		return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
	}})
	if _, err := guest.DialContext(ctx, "tcp", "192.0.2.7:80"); err == nil {
		t.Error("an attempt to connect was ended: got a connection, want an error")
	}
	close(gone)
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	far.SetDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // Read shows it
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the guest has gone: the far end got %v, want connection reset", err)
	}
}

// After Close no descriptor is left, whatever was under way: connections, an attempt to connect
// without an answer, and UDP flows.
func TestCloseLeavesNoDescriptor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("open descriptors are counted on Linux")
	}
	full := fullListener(t)
	port := startEcho(t, "127.0.0.1")
	before := descriptors(t)
	host, n := network(t, link.Ethernet, Config{})
	for range 5 {
		for _, network := range []string{"tcp", "udp"} {
			c, err := host.Dial(network, netip.AddrPortFrom(here[0], port).String())
			if err != nil {
				t.Fatal(err)
			}
			c.SetDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // Read shows it
			io.WriteString(c, "x")                   //nolint:errcheck // as above
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		go host.Dial("tcp", netip.AddrPortFrom(here[0], full).String()) //nolint:errcheck // it fails at Close
	}
	waitFor(t, "attempts to connect", func() bool { return descriptors(t) >= before+15 })
	n.Close()
	host.Close()
	waitFor(t, "no descriptor that is left", func() bool {
		runtime.GC() // io.Copy of the echo server keeps its pipes for splice until then
		return descriptors(t) <= before
	})
}

// fullListener returns a port whose backlog is full: attempts to connect are not answered.
func fullListener(t *testing.T) uint16 {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := at.(*syscall.SockaddrInet4).Port
	for range 3 { // the backlog of 0 takes one or two
		c, err := net.DialTimeout("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port)).String(), 100*time.Millisecond)
		if err != nil {
			break
		}
		t.Cleanup(func() { c.Close() })
	}
	return uint16(port)
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// waitFor waits for a state of the test.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitLimit); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: got none in %v, want it", what, waitLimit)
		}
	}
}
