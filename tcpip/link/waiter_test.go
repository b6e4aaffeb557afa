package link

import (
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// waiters has links whose queues ask their senders to wait when they hold 10 frames of 1,000 bytes.
func waiters(t *testing.T, test func(t *testing.T, near, far Link)) {
	for name, wrap := range map[string]func(testing.TB, Link) Link{"pair": bare, "capture": captured} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := Pair(PairConfig{Buffer: 10 * (1000 + frameCost)})
				near = wrap(t, near)
				defer near.Close()
				defer far.Close()
				test(t, near, far)
			})
		})
	}
}

func TestAFullQueueAsksToWaitUntilItIsHalfEmpty(t *testing.T) {
	waiters(t, func(t *testing.T, near, far Link) {
		q := near.Queue(0)
		w := q.(Waiter)
		calls := 0
		count := func() { calls++ }
		w.WhenRoom(count)
		for i := range 10 {
			if w.Full() || calls != 1 {
				t.Fatalf("with %d frames the queue is full, or there were %d calls; want room, and a call at once", i, calls)
			}
			q.Write(inParts(frame(i, 1000)))
		}
		w.WhenRoom(count)
		w.WhenRoom(count)
		if want(t, far.Queue(0), 4); calls != 1 {
			t.Errorf("with 6 of 10 frames: %d calls, want none for a queue that was full", calls)
		}
		if want(t, far.Queue(0), 1); w.Full() || calls != 3 {
			t.Errorf("with 5 of 10 frames: full %v and %d calls, want room and two", w.Full(), calls)
		}
	})
}

func TestSendersThatDoNotWaitLoseFramesInTheEnd(t *testing.T) {
	waiters(t, func(t *testing.T, near, far Link) {
		sent := 0
		for range 100 {
			if near.Queue(0).Write(inParts(frame(1, 1000))) {
				sent++
			}
		}
		if c := near.Queue(0).Counters(); sent != 20 || c.Dropped[DropFull] != 80 {
			t.Errorf("%d were sent, counters %+v; want twice what the queue holds, and the rest dropped", sent, c)
		}
	})
}

func TestAWaitingWriteEndsWithRoomOrStop(t *testing.T) {
	waiters(t, func(t *testing.T, near, far Link) {
		q, stop := near.Queue(0), make(chan struct{})
		for range 10 {
			q.Write(inParts(frame(1, 1000)))
		}
		began := time.Now()
		time.AfterFunc(time.Second, func() { want(t, far.Queue(0), 10) })
		if !WriteWaiting(q, inParts(frame(2, 1000)), stop) || time.Since(began) != time.Second {
			t.Errorf("a write that waits ended after %v, want it sent after a second", time.Since(began))
		}
		for range 10 {
			q.Write(inParts(frame(1, 1000)))
		}
		time.AfterFunc(time.Second, func() { close(stop) })
		if WriteWaiting(q, inParts(frame(2, 1000)), stop) || time.Since(began) != 2*time.Second {
			t.Errorf("a write that waits ended after %v, want it given up after two", time.Since(began))
		}
	})
}

func TestClosingEndsTheWaitForRoom(t *testing.T) {
	waiters(t, func(t *testing.T, near, far Link) {
		for range 10 {
			near.Queue(0).Write(inParts(frame(1, 1000)))
		}
		time.AfterFunc(time.Second, func() { far.Close() })
		if WriteWaiting(near.Queue(0), inParts(frame(2, 1000)), nil) {
			t.Error("a frame was sent to a closed end, want it dropped")
		}
	})
}

// The capture of a link that does not ask to wait does not ask either.
func TestACaptureAsksToWaitAsItsLinkDoes(t *testing.T) {
	near, far := Pair(PairConfig{})
	c, err := NewCapture(near, io.Discard, CaptureConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	defer c.Close()
	called := false
	w := c.Queue(0).(Waiter)
	if w.WhenRoom(func() { called = true }); w.Full() || !called {
		t.Error("the queue is full, want room at once")
	}
}
