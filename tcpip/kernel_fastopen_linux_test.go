package tcpip

import (
	"context"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/tcpip/tcp"
)

// allowFastOpen turns Fast Open on in the kernel's namespace, for clients and servers.
func (p *peer) allowFastOpen(t *testing.T) {
	t.Helper()
	if err := p.inside(func() error { return os.WriteFile("/proc/sys/net/ipv4/tcp_fastopen", []byte("3"), 0) }); err != nil {
		t.Skipf("Fast Open of the kernel cannot be turned on: %v", err)
	}
}

// fastOpenOption sets an option of TCP at a socket of the kernel.
func fastOpenOption(option, value int) func(string, string, syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) (err error) {
		if failed := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, option, value) }); failed != nil {
			return failed
		}
		return err
	}
}

// tcpiOptSYNData is TCPI_OPT_SYN_DATA of linux/tcp.h.
const tcpiOptSYNData = 32

// synDataAcked reports whether the kernel has sent or received data with a SYN.
func synDataAcked(t *testing.T, c net.Conn) bool {
	return info(t, c.(*net.TCPConn)).Options&tcpiOptSYNData != 0
}

// counter returns a counter of the kernel as a number.
func (p *peer) counter(t *testing.T, what string) int {
	n, err := strconv.Atoi(p.counted(t, what))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The kernel is a server with Fast Open: the stack gets a cookie from it, and the next SYN carries
// data that the kernel acknowledges and delivers.
func TestKernelAcceptsTheDataOfASYN(t *testing.T) {
	p := kernel(t, false)
	p.allowFastOpen(t)
	for _, host := range []string{kernelHost, "[" + kernelHost6 + "]"} {
		var l net.Listener
		if err := p.inside(func() (err error) {
			c := net.ListenConfig{Control: fastOpenOption(unix.TCP_FASTOPEN, 16)}
			c.SetMultipathTCP(false)
			l, err = c.Listen(context.Background(), "tcp", host+":0")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for i, want := range []int{0, 1000} {
			ours, err := (&Dialer{Stack: p.stack, FastOpen: true}).Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if state := ours.(*Conn).Info().State; (state == tcp.SynSent) != (i > 0) {
				t.Errorf("%s, connection %d: got the state %v after Dial, want SYN-SENT with a cookie only", host, i, state)
			}
			if _, err := ours.Write(make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			theirs, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if n, err := theirs.Read(make([]byte, 2000)); n != 1000 || err != nil {
				t.Errorf("%s, connection %d: the kernel got %d bytes, error %v; want 1000", host, i, n, err)
			}
			until(t, "the handshake is complete", func() bool { return ours.(*Conn).Info().State == tcp.Established })
			if n := ours.(*Conn).Info().SYNData; n != want || synDataAcked(t, theirs) != (want > 0) {
				t.Errorf("%s, connection %d: got %d bytes of acknowledged SYN data, and %t from the kernel; want %d", host, i, n, synDataAcked(t, theirs), want)
			}
			exchange(t, ours.(*Conn), theirs.(*net.TCPConn), 100_000)
		}
	}
	if n := p.counter(t, "TCPFastOpenPassive"); n != 2 {
		t.Errorf("the kernel has accepted the data of %d SYNs, want 2: one of each family", n)
	}
}

// The kernel is a client with Fast Open: the stack grants it a cookie, and delivers the data of its
// next SYN.
func TestKernelSendsDataWithItsSYN(t *testing.T) {
	p := kernel(t, false)
	p.allowFastOpen(t)
	l := listenFast(t, p.stack, ":80", 16)
	defer l.Close()
	for _, host := range []string{stackHost, "[" + stackHost6 + "]"} {
		for i, want := range []int{0, 1000} {
			var theirs net.Conn
			if err := p.inside(func() (err error) {
				d := net.Dialer{Control: fastOpenOption(unix.TCP_FASTOPEN_CONNECT, 1), Timeout: waitLimit}
				d.SetMultipathTCP(false)
				theirs, err = d.Dial("tcp", host+":80")
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := theirs.Write(make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			ours, err := l.AcceptTCP()
			if err != nil {
				t.Fatal(err)
			}
			ours.SetReadDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // it is open
			if n, err := ours.Read(make([]byte, 2000)); n != 1000 || err != nil {
				t.Errorf("%s, connection %d: got %d bytes, error %v; want 1000", host, i, n, err)
			}
			until(t, "the handshake is complete", func() bool { return ours.Info().State == tcp.Established })
			if n := ours.Info().SYNData; n != want || synDataAcked(t, theirs) != (want > 0) {
				t.Errorf("%s, connection %d: got %d bytes of SYN data, and %t from the kernel; want %d", host, i, n, synDataAcked(t, theirs), want)
			}
			exchange(t, ours, theirs.(*net.TCPConn), 100_000)
		}
	}
	if n := p.counter(t, "TCPFastOpenActive"); n != 2 {
		t.Errorf("the data of %d SYNs of the kernel was accepted, want 2: one of each family", n)
	}
}
