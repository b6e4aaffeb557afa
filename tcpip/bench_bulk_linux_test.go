package tcpip

import (
	"fmt"
	"net"
	"testing"
	"time"

	"weir/serve"
)

// BenchmarkKernelBulk sends a stream between a stack and the kernel on a TAP device, in both
// directions, by both families and in writes of several sizes. An operation is 1 MiB. Processor
// time is that of both ends.
func BenchmarkKernelBulk(b *testing.B) {
	for family, host := range map[string]string{"ipv4": stackHost, "ipv6": stackHost6} {
		for _, size := range []int{16 << 10, 64 << 10, 512 << 10} {
			b.Run(fmt.Sprintf("out/%s/%dk", family, size>>10), func(b *testing.B) {
				bulk(b, host, func(s *Stack, address string) error { return sendPieces(s, address, size) }, readMiB)
			})
		}
		b.Run("out/"+family+"/session", func(b *testing.B) {
			bulk(b, host, func(s *Stack, address string) error {
				_, err := s.Serve(address, serve.Service{Open: func(serve.Conn) serve.Session { return endlessSession{make([]byte, 64<<10)} }}, serve.Options{})
				return err
			}, readMiB)
		})
		b.Run("in/"+family, func(b *testing.B) { bulk(b, host, discardPieces, writeMiB) })
	}
}

// bulk runs a service of the stack, connects the kernel to it, and measures its end.
func bulk(b *testing.B, host string, start func(s *Stack, address string) error, step func(c net.Conn, buffer []byte) error) {
	p := kernel(b, false)
	address := net.JoinHostPort(host, "9")
	if err := start(p.stack, address); err != nil {
		b.Fatal(err)
	}
	var c net.Conn
	if err := p.inside(func() (err error) { c, err = kernelDial(address); return err }); err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	buffer := make([]byte, 1<<20)
	for begun := time.Now(); time.Since(begun) < 300*time.Millisecond; { // the windows grow
		if err := step(c, buffer); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(1 << 20)
	b.ResetTimer()
	began := processorTime()
	for range b.N {
		if err := step(c, buffer); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric((processorTime()-began).Seconds()/float64(b.N)*1e9/(1<<20), "cpu-s/GB")
	c.Close()
	// unread data are the service's until it has seen the end
	until(b, "all buffers are given back", func() bool { return p.stack.held() == 0 })
}

// readMiB reads 1 MiB.
func readMiB(c net.Conn, buffer []byte) error {
	for got := 0; got < 1<<20; {
		n, err := c.Read(buffer)
		if err != nil {
			return err
		}
		got += n
	}
	return nil
}

// writeMiB writes 1 MiB.
func writeMiB(c net.Conn, buffer []byte) error {
	_, err := c.Write(buffer[:1<<20])
	return err
}

// sendPieces has a goroutine write pieces to one connection, until it ends.
func sendPieces(s *Stack, address string, size int) error {
	return withConn(s, address, func(c net.Conn) {
		for piece := make([]byte, size); ; {
			if _, err := c.Write(piece); err != nil {
				return
			}
		}
	})
}

// discardPieces has a goroutine read from one connection, until it ends.
func discardPieces(s *Stack, address string) error {
	return withConn(s, address, func(c net.Conn) {
		for buffer := make([]byte, 1<<20); ; {
			if _, err := c.Read(buffer); err != nil {
				return
			}
		}
	})
}

// withConn has a goroutine run do with the first connection to an address.
func withConn(s *Stack, address string, do func(net.Conn)) error {
	l, err := s.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() { // until the connection or the stack ends
		defer l.Close()
		if c, err := l.Accept(); err == nil {
			do(c)
			c.Close() //nolint:errcheck // it has ended
		}
	}()
	return nil
}

// endlessSession is a session that sends the same piece without end.
type endlessSession struct{ piece []byte }

func (e endlessSession) Stream() ([]byte, error)           { return e.piece, nil }
func (endlessSession) Input([]byte, *serve.Writer) error   { return nil }
func (endlessSession) Wake(time.Time, *serve.Writer) error { return nil }
func (endlessSession) Close(error)                         {}
