package tcpip

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// A stack sends to the kernel over a path that drops packets of more than 1,300 bytes, without a
// Packet Too Big. Everything arrives, and the stack finds the size to within 8 bytes (RFC 4821).
func TestKernelReceivesThroughABlackHole(t *testing.T) {
	for name, ipv6 := range map[string]bool{"IPv4": false, "IPv6": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKernelReceivesThroughABlackHole(t, placeAddr(ipv6, 1), placeAddr(ipv6, 2))
		})
	}
}

func testKernelReceivesThroughABlackHole(t *testing.T, kernels, stacks netip.Prefix) {
	const mtu = 1300
	left := kernelPlace(t, kernels)
	ours, path := link.Pair(link.PairConfig{Depth: 4096})
	s := hostOn(t, ours, stacks.String())
	emulate(t, badPath{100e6, 10 * time.Millisecond, 0, 256 << 10}, 1, left.link, path).makeBlackHole(mtu + wire.EthernetHeader)
	l, err := left.listen(netip.AddrPortFrom(kernels.Addr(), 80).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	data := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
	received := make(chan []byte, 1) // the kernel's end -> the test: all that has arrived
	go func() {
		c, err := l.Accept()
		if err != nil {
			received <- nil
			return
		}
		defer c.Close()
		c.SetReadDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // the data tells
		all, _ := io.ReadAll(c)
		received <- all
	}()
	c := dial(t, s, "tcp", l.Addr().String()).(*Conn)
	sendAll(t, c, data)
	if got := <-received; !bytes.Equal(got, data) {
		t.Errorf("the kernel received %d bytes, want the %d that were sent", len(got), len(data))
	}
	if got := c.Info().PathMTU; got > mtu || got <= mtu-8 {
		t.Errorf("got packets of at most %d bytes, want %d or up to 7 less (RFC 4821, 7.3)", got, mtu)
	}
}

// sendAll writes data and ends the stream.
func sendAll(t *testing.T, c net.Conn, data []byte) {
	t.Helper()
	c.SetWriteDeadline(time.Now().Add(waitLimit)) //nolint:errcheck // Write tells
	if n, err := c.Write(data); err != nil {
		t.Errorf("wrote %d bytes: %v", n, err)
	}
	if err := c.(*Conn).CloseWrite(); err != nil {
		t.Error(err)
	}
}
