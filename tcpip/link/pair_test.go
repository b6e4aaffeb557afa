package link

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPairHoldsItsDepth(t *testing.T) {
	a, b := Pair(PairConfig{Depth: 10})
	defer a.Close()
	defer b.Close()
	for round := range 3 { // as many again when some were read
		taken := 0
		for i := range 20 {
			if a.Queue(0).Write(inParts(frame(i, 100))) {
				taken++
			}
		}
		if room := 10 - min(round, 1)*3; taken != room {
			t.Errorf("round %d: %d frames were taken, want 10 less %d that wait", round, taken, 10-room)
		}
		want(t, b.Queue(0), 7)
	}
	if got := a.Queue(0).Counters().Dropped[DropFull]; got != 10+13+13 {
		t.Errorf("%d are counted as dropped for a full queue, want 36", got)
	}
}

func TestAPairWithOneEndClosedDropsFrames(t *testing.T) {
	a, b := Pair(PairConfig{})
	a.Queue(0).Write(inParts(frame(1, 100)))
	a.Close()
	same(t, want(t, b.Queue(0), 1), [][]byte{frame(1, 100)})
	if b.Queue(0).Write(inParts(frame(2, 100))) || b.Queue(0).Counters().Dropped[DropClosed] != 1 {
		t.Errorf("a frame to a closed end: counters %+v, want Write to return false and to count it as closed", b.Queue(0).Counters())
	}
	if n, err := b.Queue(0).Read(make([]Frame, 1), time.Millisecond); n != 0 || err != nil {
		t.Errorf("reading from a closed end: %d frames and %v, want silence", n, err)
	}
	b.Close()
	if _, err := b.Queue(0).Read(make([]Frame, 1), -1); !errors.Is(err, net.ErrClosed) {
		t.Errorf("reading from an end closed by its owner: got error %v, want net.ErrClosed", err)
	}
}

func TestAPairWaitsInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pair(PairConfig{})
		defer a.Close()
		defer b.Close()
		begin := time.Now()
		if n, err := b.Queue(0).Read(make([]Frame, 1), time.Hour); n != 0 || err != nil || time.Since(begin) != time.Hour {
			t.Errorf("%d frames and %v after %v, want none after an hour", n, err, time.Since(begin))
		}
		time.AfterFunc(time.Minute, func() { a.Queue(0).Write(inParts(frame(1, 100))) })
		if n, err := b.Queue(0).Read(make([]Frame, 1), -1); n != 1 || err != nil || time.Since(begin) != time.Hour+time.Minute {
			t.Errorf("%d frames and %v after %v, want one after an hour and a minute", n, err, time.Since(begin))
		}
	})
}

// A pair that keeps up allocates nothing.
func TestAPairReusesBuffers(t *testing.T) {
	a, b := Pair(PairConfig{Superframe: 65535, Checksum: true})
	defer a.Close()
	defer b.Close()
	p, batch := inParts(frame(1, 1500)), make([]Frame, 4)
	if n := testing.AllocsPerRun(1000, func() {
		for range 4 {
			a.Queue(0).Write(p)
		}
		b.Queue(0).Read(batch, 0) //nolint:errcheck // it is counted below
	}); n != 0 {
		t.Errorf("%v allocations for four frames, want none", n)
	}
	if c := b.Queue(0).Counters(); c.Received != a.Queue(0).Counters().Sent {
		t.Errorf("got %d frames received, want the %d that were sent", c.Received, a.Queue(0).Counters().Sent)
	}
}
