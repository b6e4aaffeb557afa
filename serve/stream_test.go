package serve

import (
	"net"
	"testing"
	"time"
)

// lateStop is a connection that a stop reaches at the worst moment. Its owner has seen the stop and
// has set a deadline for its last reads; then the stop sets its own deadline.
type lateStop struct {
	*net.TCPConn
	stopsLeft *int // how many stops are still to come
}

func (c lateStop) SetReadDeadline(t time.Time) error {
	err := c.TCPConn.SetReadDeadline(t)
	if *c.stopsLeft > 0 {
		*c.stopsLeft--
		c.TCPConn.SetReadDeadline(past)
	}
	return err
}

func TestAStopDuringTheLastReadsLosesNothing(t *testing.T) {
	for name, wrap := range map[string]func(lateStop) net.Conn{
		"with a descriptor":    func(c lateStop) net.Conn { return c },
		"without a descriptor": func(c lateStop) net.Conn { return bareConn{c} },
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t)
			defer l.Close()
			peer, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer peer.Close()
			accepted, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			stops := 3
			s := newStream(wrap(lateStop{accepted.(*net.TCPConn), &stops}), new(counterShard), &Options{})
			defer s.Close()
			peer.Write([]byte("arrived"))
			s.Conn.SetReadDeadline(time.Time{})
			stops = 3
			s.stopping.Store(true)
			b := make([]byte, 100)
			if n, err := s.Read(b); string(b[:n]) != "arrived" || err != nil {
				t.Errorf("read %q, %v, want what had arrived", b[:n], err)
			}
			if n, err := s.Read(b); n != 0 || err != ErrStopped {
				t.Errorf("read %q, %v, want nothing and %v", b[:n], err, ErrStopped)
			}
		})
	}
}
