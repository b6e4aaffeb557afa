package tcpip

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"weir/tcpip/link"
)

// On a device of two queues connections of both versions of IP are spread over both, whichever end
// opened them, and all their data arrives.
func TestKernelConnectsByAllQueues(t *testing.T) {
	const conns, bytesEach = 16, 200_000
	p := &peer{space: newSpace(t), device: "tap0", of: bothEnds[0]}
	tap := device(t, link.SetupConfig{Namespace: p.space, Tap: p.device, Queues: 2, Addrs: []netip.Prefix{netip.MustParsePrefix(kernelHost + "/24")}}, false)
	p.addIPv6(t)
	s := hostOn(t, tap, stackHost+"/24", withIPv6)
	l, err := s.Listen("tcp", ":7")
	if err != nil {
		t.Fatal(err)
	}
	kernels := p.listen(t, ":7")
	said := bytes.Repeat([]byte("to and fro "), bytesEach/11)
	var ends sync.WaitGroup
	echo := func(l net.Listener) {
		for range conns {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			ends.Go(func() {
				defer c.Close()
				io.Copy(c, c) //nolint:errcheck // the other end tells
			})
		}
	}
	ends.Go(func() { echo(l) })
	ends.Go(func() { echo(kernels) })
	for i := range conns {
		of := bothEnds[i%2]
		theirs := p.dial(t, net.JoinHostPort(of.stack, "7"))
		ours := dial(t, s, "tcp", net.JoinHostPort(of.kernel, "7"))
		ends.Go(func() { there(t, ours, said) })
		ends.Go(func() { there(t, theirs, said) })
	}
	ends.Wait()
	for i := range 2 {
		if n := tap.Queue(i).Counters(); n.Received < conns || n.Sent < conns {
			t.Errorf("queue %d: got %d frames in and %d out, want at least %d each, a part of the connections", i, n.Received, n.Sent, conns)
		}
	}
}

// there sends bytes to an echo service, and receives them back.
func there(t *testing.T, c net.Conn, said []byte) {
	go func() { // until all is sent, or the connection closes
		c.Write(said)                                    //nolint:errcheck // the reader tells
		c.(interface{ CloseWrite() error }).CloseWrite() //nolint:errcheck // the test checks its effect
	}()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, said) {
		t.Errorf("the echo: got %d bytes back, error %v; want the %d bytes that were sent", len(got), err, len(said))
	}
}
