package nat

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/tcpip"
	"weir/tcpip/link"
)

// A server that greets and closes before the gateway has seen that it is connected: one event
// reports the connection, the data and the end, and the guest gets both.
func TestAGreetingAndItsEndPassTogether(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.WriteString(c, "hello") //nolint:errcheck // the guest shows it
			c.Close()
		}
	}()
	host, n := network(t, link.Ethernet, Config{})
	n.stack.Forward(tcpip.Forwarder{TCP: func(r *tcpip.TCPRequest) {
		go func() { // until the socket is watched
			fd, err := n.connectSocket(unix.SOCK_STREAM, r.To())
			if err != nil || !n.begin(r.From().Addr()) {
				t.Errorf("connecting onward: got %v, want no error", err)
				return
			}
			if polled, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}, int(waitLimit.Milliseconds())); polled != 1 {
				t.Errorf("waiting for the end of the greeting: got %d and %v, want 1", polled, err)
			}
			f := &relay{n: n, client: r.From().Addr(), request: r, fd: fd}
			if err := f.watch(); err != nil {
				t.Error(err)
			}
		}()
	}})
	c, err := host.Dial("tcp", netip.AddrPortFrom(here[0], portOf(l)).String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(waitLimit / 4)) //nolint:errcheck // the read shows it
	if got, err := io.ReadAll(c); err != nil || string(got) != "hello" {
		t.Errorf("got %q and %v, want %q and the end", got, err, "hello")
	}
}
