package netsim

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/tcpip"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
)

// crowd is many connections to a host with little memory. Each peer sends as much as it can; the
// host does not read.
type crowd struct {
	family
	t          *testing.T
	peer, host *tcpip.Stack
	listener   net.Listener
	data       []byte
	sending    sync.WaitGroup
}

const (
	little  = 2 << 20 // bytes of memory
	crowded = 150     // connections
)

func newCrowd(t *testing.T, of family) *crowd {
	t.Helper()
	la, lb := link.Pair(link.PairConfig{Depth: 10_000, Checksum: true})
	c := &crowd{family: of, t: t, peer: stack(t, la, of.peer, tcp.Config{}), data: make([]byte, 100_000)}
	for i := range c.data {
		c.data[i] = byte(i * 7 / 3)
	}
	var err error
	c.host, err = tcpip.New(tcpip.Config{Link: lb, Addrs: []netip.Prefix{netip.MustParsePrefix(of.host)}, Memory: little})
	if err != nil {
		t.Fatal(err)
	}
	if c.listener, err = c.host.Listen("tcp", ":80"); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *crowd) close() {
	c.sending.Wait()
	c.peer.Close()
	c.host.Close()
}

// connect opens a connection whose peer sends everything and closes. It returns the host's end.
func (c *crowd) connect() net.Conn {
	c.t.Helper()
	p, err := c.peer.Dial("tcp", c.address())
	if err != nil {
		c.t.Fatal(err)
	}
	c.sending.Go(func() {
		p.Write(c.data) //nolint:errcheck // the other end sees it
		p.Close()
	})
	h, err := c.listener.Accept()
	if err != nil {
		c.t.Fatal(err)
	}
	return h
}

// all reads the data of a peer.
func (c *crowd) all(h net.Conn) error {
	got, err := io.ReadAll(h)
	h.Close()
	if err != nil || !bytes.Equal(got, c.data) {
		return fmt.Errorf("got %d bytes, error %v; want %d", len(got), err, len(c.data))
	}
	return nil
}

// held returns the host's used memory, and fails the test if it exceeds the limit.
func (c *crowd) held() int {
	c.t.Helper()
	held, most := c.host.Memory()
	if held > most || most != little {
		c.t.Errorf("%d bytes are in use, want at most %d", held, most)
	}
	return held
}

// Unread connections together use no more than the memory limit. A connection that is read
// continues beside them. When the others are read again, all their data is there.
func TestMemoryIsBounded(t *testing.T) {
	ofBoth(t, func(t *testing.T, of family) {
		c := newCrowd(t, of)
		defer c.close()
		var stopped []net.Conn
		for range crowded {
			stopped = append(stopped, c.connect())
			c.held()
		}
		for range 60 {
			time.Sleep(time.Second)
			c.held()
		}
		if held := c.held(); held < little/2 {
			t.Errorf("%d connections hold %d bytes, want at least %d: otherwise memory is not under pressure", crowded, held, little/2)
		}
		if dropped(c.host, tcpip.DropMemory) == 0 {
			t.Error("nothing was dropped for want of memory")
		}
		begun := time.Now()
		if err := c.all(c.connect()); err != nil {
			t.Errorf("a connection that is read beside those that are not: got error %v, want all its data", err)
		}
		t.Logf("%d bytes are held, %d segments were dropped; one that is read beside them takes %v", c.held(), dropped(c.host, tcpip.DropMemory), time.Since(begun))
		for i, h := range stopped {
			if err := c.all(h); err != nil {
				t.Errorf("connection %d, read after it had stopped: got error %v, want all its data", i, err)
			}
		}
		synctest.Wait()
		if held := c.held(); held != 0 {
			t.Errorf("%d bytes are in use at the end, want 0", held)
		}
	})
}

func dropped(s *tcpip.Stack, why tcpip.Drop) uint64 {
	for d, n := range s.Drops() {
		if d == why {
			return n
		}
	}
	return 0
}

// One connection cannot use all memory: a quarter is left for others.
func TestOneConnectionDoesNotTakeAllMemory(t *testing.T) {
	ofBoth(t, func(t *testing.T, of family) {
		c := newCrowd(t, of)
		defer c.close()
		h := c.connect()
		ended := make(chan error, 1) // the writer's; one
		go func() {
			_, err := h.Write(make([]byte, 3*little)) // it is not read
			ended <- err
		}()
		time.Sleep(time.Minute)
		if held := c.held(); held > little*3/4 {
			t.Errorf("one connection holds %d of %d bytes, want at most %d", held, little, little*3/4)
		}
		if err := c.all(c.connect()); err != nil {
			t.Errorf("another connection beside it: got error %v, want all its data", err)
		}
		h.Close()
		<-ended
	})
}
