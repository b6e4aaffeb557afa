package tcpip

import (
	"bytes"
	"io"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// slowLink takes its time over the first large frames: until an answer has been read and its reader is back for more, or there is none.
type slowLink struct {
	link.Link
	q *slowQueue
}

func (l *slowLink) Queue(int) link.Queue { return l.q }

type slowQueue struct {
	link.Queue
	given, back atomic.Int64 // batches that the reader was given, and that it has come back from
	came, stuck atomic.Int64 // large frames during which the reader came back, and during which it did not
}

func (q *slowQueue) Read(batch []link.Frame, wait time.Duration) (int, error) {
	q.back.Store(q.given.Load())
	n, err := q.Queue.Read(batch, wait)
	if n > 0 {
		q.given.Add(1)
	}
	return n, err
}

func (q *slowQueue) Write(p *link.Parts) bool {
	before := q.given.Load()
	sent := q.Queue.Write(p)
	if p.Len() < 1000 || q.came.Load() >= 3 || q.stuck.Load() > 0 {
		return sent
	}
	if !within(time.Second, func() bool { return q.given.Load() > before }) {
		return sent // acknowledgments may be delayed
	}
	if within(20*time.Second, func() bool { return q.back.Load() > before }) {
		q.came.Add(1)
	} else {
		q.stuck.Add(1)
	}
	return sent
}

func within(patience time.Duration, happened func() bool) bool {
	for end := time.Now().Add(patience); !happened(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// While a Write sends, the reader does not wait for it: acknowledgments are left to the Write.
func TestAReaderDoesNotWaitForAWrite(t *testing.T) {
	near, far := link.Pair(link.PairConfig{})
	q := &slowQueue{Queue: near.Queue(0)}
	a := newStack(t, &slowLink{near, q}, "10.0.0.1/24")
	b := newStack(t, far, "10.0.0.2/24")
	l, err := b.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	sent, got := bytes.Repeat([]byte("0123456789abcdef"), 8<<10), make(chan []byte, 1) // what the accepting end has read; one
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- nil
			return
		}
		defer c.Close()
		all, _ := io.ReadAll(c)
		got <- all
	}()
	c, err := a.Dial("tcp", "10.0.0.2:80")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(sent); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if all := <-got; !bytes.Equal(all, sent) {
		t.Errorf("%d bytes of %d came, or other ones", len(all), len(sent))
	}
	if q.stuck.Load() > 0 || q.came.Load() == 0 {
		t.Errorf("the reader waited for a Write; %d times it did not", q.came.Load())
	}
}

func newStack(t *testing.T, l link.Link, addr string) *Stack {
	t.Helper()
	s, err := New(Config{Link: l, Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestABacklogTakesAcknowledgmentsOfAWrite(t *testing.T) {
	ack := tcp.Segment{Ack: 7, Flags: wire.ACK}
	var b backlog
	if b.leave(&ack) || b.excuse() {
		t.Error("something was left to nobody")
	}
	b.begin()
	for _, s := range []tcp.Segment{{Flags: wire.ACK, Payload: []byte{1}}, {Flags: wire.ACK | wire.FIN}, {Flags: wire.RST}, {Flags: wire.SYN | wire.ACK}, {Flags: wire.ACK | wire.URG}} {
		if b.leave(&s) {
			t.Errorf("a segment with %v and %d bytes was left", s.Flags, len(s.Payload))
		}
	}
	for i := range backlogMost + 1 {
		ack.Ack = wire.Seq(i)
		if took := b.leave(&ack); took != (i < backlogMost) {
			t.Errorf("acknowledgment %d: taken: %v", i, took)
		}
	}
	var got []wire.Seq
	take := func(s *tcp.Segment) { got = append(got, s.Ack) }
	if !b.next(false, take) || len(got) != backlogMost || got[0] != 0 || got[backlogMost-1] != backlogMost-1 {
		t.Errorf("%d came: %v", len(got), got)
	}
	if !b.excuse() || !b.next(false, take) {
		t.Error("the Write does not answer for the reader")
	}
	if !b.leave(&ack) || !b.next(true, take) || b.leave(&ack) || b.excuse() {
		t.Error("something was left after the last time")
	}
	b.begin()
	if b.next(false, take) || b.leave(&ack) {
		t.Error("something was left after there was nothing")
	}
}
