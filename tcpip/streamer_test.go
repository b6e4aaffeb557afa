package tcpip

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/serve"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

// pieces is a session that sends pieces, then nothing until it gets input, and so on for each byte
// of input.
type pieces struct {
	left   [][]byte
	again  [][]byte
	end    error
	asked  *atomic.Int64
	closed *error
}

func (s *pieces) Stream() ([]byte, error) {
	s.asked.Add(1)
	if len(s.left) == 0 {
		return nil, s.end
	}
	piece := s.left[0]
	s.left = s.left[1:]
	return piece, nil
}

func (s *pieces) Input([]byte, *serve.Writer) error {
	s.left = s.again
	return nil
}

func (s *pieces) Wake(time.Time, *serve.Writer) error { return nil }

func (s *pieces) Close(err error) { *s.closed = err }

// streaming returns the client's end of a connection to a streaming session.
func streaming(t *testing.T, s *pieces, cfg tcp.Config) net.Conn {
	s.asked, s.closed = new(atomic.Int64), new(error)
	la, lb := link.Pair(link.PairConfig{})
	x, y := stack(t, Config{Link: la, Addrs: prefixes("10.0.0.1/24")}), stack(t, Config{Link: lb, Addrs: prefixes("10.0.0.2/24"), TCP: cfg})
	if _, err := y.Serve(":80", serve.Service{Open: func(serve.Conn) serve.Session { return s }}, serve.Options{}); err != nil {
		t.Fatal(err)
	}
	return dial(t, x, "tcp", "10.0.0.2:80")
}

// A stream arrives whole, whatever the sizes of its pieces and of the send buffer.
func TestAStreamArrivesWhole(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []int
		cfg    tcp.Config
	}{
		{"nothing", nil, tcp.Config{}},
		{"small pieces", slices.Repeat([]int{1, 1000}, 50), tcp.Config{}},
		{"large pieces", slices.Repeat([]int{64 << 10, 10}, 100), tcp.Config{}},
		{"pieces larger than the send buffer", []int{1 << 20, 1, 1 << 20}, tcp.Config{SendBuffer: tcp.BufferRange{Initial: 8 << 10, Max: 8 << 10}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &pieces{end: io.EOF}
				var all []byte
				for i, n := range c.pieces {
					s.left = append(s.left, bytes.Repeat([]byte{byte(i + 1)}, n))
					all = append(all, s.left[i]...)
				}
				conn := streaming(t, s, c.cfg)
				time.Sleep(time.Second) // the window closes meanwhile
				if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, all) {
					t.Errorf("got %d bytes, %v; want the %d of the pieces", len(got), err, len(all))
				}
				conn.Close()
				synctest.Wait()
				if !errors.Is(*s.closed, io.EOF) {
					t.Errorf("the session ended with %v, want its own io.EOF", *s.closed)
				}
			})
		})
	}
}

// A session without a piece is asked again after its next input only, and one whose peer does not
// read is not asked beyond the buffers.
func TestAStreamIsAskedForWhatThereIsRoomFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &pieces{again: [][]byte{[]byte("more")}}
		conn := streaming(t, s, tcp.Config{})
		time.Sleep(time.Minute)
		if n := s.asked.Load(); n != 1 {
			t.Errorf("an idle stream was asked %d times in a minute, want once", n)
		}
		p := make([]byte, 9)
		for range 3 {
			conn.Write([]byte("?")) //nolint:errcheck // Read sees it
			if n, err := conn.Read(p); string(p[:n]) != "more" || err != nil {
				t.Errorf("got %q, %v; want %q after each input", p[:n], err, "more")
			}
		}
		conn.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		s := &pieces{left: slices.Repeat([][]byte{make([]byte, 64<<10)}, 10_000)}
		conn := streaming(t, s, tcp.Config{})
		time.Sleep(time.Minute)
		if n := s.asked.Load(); n > 300 {
			t.Errorf("a peer that does not read: the stream was asked %d times, want at most 300, for the buffers of both ends", n)
		}
		conn.Close()
	})
}
