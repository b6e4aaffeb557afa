package tcpip

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"weir/tcpip/link"
	"weir/wire"
)

// A stack sends to the kernel over a path that drops packets of more than 1,300 bytes, without a
// Packet Too Big. Everything arrives, and the stack finds the size to within 8 bytes (RFC 4821).
func TestKernelReceivesThroughABlackHole(t *testing.T) {
	const mtu = 1300
	left := kernelPlace(t, "10.79.0.1")
	ours, path := link.Pair(link.PairConfig{Depth: 4096})
	s := hostOn(t, ours, "10.79.0.2/24")
	emulate(t, badPath{100e6, 10 * time.Millisecond, 0, 256 << 10}, 1, left.link, path).makeBlackHole(mtu + wire.EthernetHeader)
	l, err := left.listen("10.79.0.1:80")
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
	c := dial(t, s, "tcp", "10.79.0.1:80").(*Conn)
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
