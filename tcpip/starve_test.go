package tcpip

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// dialFrom connects to port 80 of 10.0.0.2 from an address; nil: there was no answer within 5 s.
func dialFrom(t *testing.T, s *Stack, from string) net.Conn {
	t.Helper()
	d := &Dialer{Stack: s, LocalAddr: netip.AddrPortFrom(netip.MustParseAddr(from), 0)}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", "10.0.0.2:80")
	if err != nil {
		return nil
	}
	t.Cleanup(func() { c.(*Conn).SetLinger(0); c.Close() })
	return c
}

// serveUnevenly serves port 80 of a stack until the stack is closed: what clients at 10.0.0.1 send
// is not read, other clients have it echoed. All are sent the answer first.
func serveUnevenly(t *testing.T, s *Stack, answer []byte) {
	l := listen(t, s, ":80")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // until its connection ends
				defer c.Close()
				c.Write(answer) //nolint:errcheck // the client sees it
				if strings.HasPrefix(c.RemoteAddr().String(), "10.0.0.1:") {
					io.Copy(c, neverReader{s.Done()}) //nolint:errcheck // it sends nothing
					return
				}
				io.Copy(c, c) //nolint:errcheck // the client sees it
			}()
		}
	}()
}

// neverReader has no bytes, and ends with a stack.
type neverReader struct{ done <-chan struct{} }

func (r neverReader) Read([]byte) (int, error) { <-r.done; return 0, io.EOF }

// The peer of thousands of connections that stall with full buffers does not stop those of others.
func TestStalledConnectionsDoNotStarveOthers(t *testing.T) {
	const stalled, most, size = 300, time.Minute, 64 << 10
	for _, c := range []struct {
		name         string
		answer, send int // bytes in each direction
	}{{"peers that read nothing", size, 0}, {"peers that send what is not read", 0, 16 << 10}, {"both", size, 16 << 10}} {
		synctest.Test(t, func(t *testing.T) {
			others, s := strangers(t, Config{Memory: 1 << 20})
			serveUnevenly(t, s, make([]byte, c.answer))
			open := 0
			for range stalled {
				if a := dialFrom(t, others, "10.0.0.1"); a != nil {
					open++
					a.(*Conn).SetReadBuffer(2048)
					go a.Write(make([]byte, c.send)) //nolint:errcheck // it is not read
				}
			}
			time.Sleep(time.Minute)
			start, got := time.Now(), make([]byte, c.answer+size)
			b := dialFrom(t, others, "10.0.0.3")
			if b == nil {
				t.Fatalf("%s: with %d stalled connections another address cannot connect", c.name, open)
			}
			b.SetDeadline(start.Add(most))
			go b.Write(make([]byte, size)) //nolint:errcheck // the echo shows it
			if n, err := io.ReadFull(b, got); err != nil {
				t.Errorf("%s: with %d stalled connections another address got %d bytes of %d in %v (%v), want all", c.name, open, n, len(got), most, err)
			}
		})
	}
}
