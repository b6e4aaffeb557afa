package tcpip

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"weir/serve"
	"weir/tcpip/link"
)

// idleMost limits the memory of an idle connection in bytes, without the application's goroutine.
const idleMost = 4 << 10

func TestAnIdleConnectionTakesLittleMemory(t *testing.T) {
	const conns = 1000
	a, b := hosts(t, link.PairConfig{Depth: 1 << 14})
	l, err := b.Listen("tcp", ":7")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Serve(":8", serve.Service{Open: func(serve.Conn) serve.Session { return echo{} }}, serve.Options{}); err != nil {
		t.Fatal(err)
	}
	used(t, a, nil, "10.0.0.2:8", 10) // warm up
	dialed := used(t, a, nil, "10.0.0.2:8", conns)
	both := used(t, a, l, "10.0.0.2:7", conns)
	t.Logf("two ends, a session at one: %d bytes; two ends with net.Conn: %d bytes", dialed, both)
	most := uint64(2 * idleMost)
	if raced {
		most += idleMost // the race detector rounds sizes up, by half of what is held
	}
	if dialed > most || both > most {
		t.Errorf("two ends of an idle connection hold %d bytes, or %d with a session at one; want at most %d", both, dialed, most)
	}
}

// used returns the memory of one idle connection, both ends together. Each has carried data in both
// directions.
func used(t *testing.T, a *Stack, l net.Listener, address string, conns int) uint64 {
	t.Helper()
	said := make([]byte, 3000)
	before, all := memory(), make([]net.Conn, 0, 2*conns)
	for range conns {
		c, err := a.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		c.Write(said) //nolint:errcheck // it is read
		if l != nil {
			d, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, d)
			if _, err := io.ReadFull(d, said); err != nil {
				t.Fatal(err)
			}
			d.Write(said) //nolint:errcheck // the test checks its effect
		}
		if _, err := io.ReadFull(c, said); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range all {
		for c.(*Conn).held() > 0 { // wait for the last acknowledgment
			time.Sleep(time.Millisecond)
		}
	}
	after := memory()
	runtime.KeepAlive(all)
	return (after - before) / uint64(conns)
}

// held returns the bytes buffered by the connection.
func (c *Conn) held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.tcp.Info(c.s.now())
	return i.Unread + i.Unsent + i.InFlight
}

// memory returns the memory in use after garbage collection.
func memory() uint64 {
	runtime.GC()
	runtime.GC() // pools are emptied by the second collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// echo is a session.
type echo struct{}

func (echo) Input(in []byte, out *serve.Writer) error { _, err := out.Write(in); return err }
func (echo) Wake(time.Time, *serve.Writer) error      { return nil }
func (echo) Close(error)                              {}
