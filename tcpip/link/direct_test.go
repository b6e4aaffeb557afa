package link

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// directPair is a pair whose near end has a reader and lets writers process frames.
type directPair struct {
	near, far Link
	w         DirectWriter
	direct    [][]byte // frames that writers have processed
	during    func()   // called while a writer processes; nil: nothing
}

func newDirectPair(t *testing.T) *directPair {
	d := &directPair{}
	d.near, d.far = Pair(PairConfig{})
	t.Cleanup(func() { d.near.Close(); d.far.Close() })
	d.w = d.far.Queue(0).(DirectWriter)
	d.near.Queue(0).(DirectReader).ProcessDirect(func(frames []Frame) {
		for _, f := range frames {
			d.direct = append(d.direct, append([]byte(nil), f.Bytes...))
		}
		if d.during != nil {
			d.during()
		}
	})
	return d
}

// outcome is what a Read has returned, and when.
type outcome struct {
	n   int
	err error
	at  time.Time
}

// read reads one frame in a goroutine, and returns when it waits.
func (d *directPair) read(wait time.Duration) <-chan outcome {
	done := make(chan outcome, 1)
	go func() { // until Read returns
		n, err := d.near.Queue(0).Read(make([]Frame, 1), wait)
		done <- outcome{n, err, time.Now()}
	}()
	synctest.Wait()
	return done
}

func TestAWriterProcessesFramesWhileTheReaderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectPair(t)
		if d.w.WriteDirect([]Frame{{Bytes: frame(0, 100)}}) {
			t.Error("frames were processed before the reader read, want them refused")
		}
		done := d.read(time.Hour)
		started := time.Now()
		if !d.w.WriteDirect([]Frame{{Bytes: frame(1, 100)}, {Bytes: frame(2, 5000)}, {Bytes: frame(3, 200)}}) {
			t.Error("frames were refused while the reader waits, want them processed")
		}
		same(t, d.direct, [][]byte{frame(1, 100), frame(3, 200)})
		near, far := d.near.Queue(0).Counters(), d.far.Queue(0).Counters()
		if near.Received != 2 || near.ReceivedBytes != 300 || far.Sent != 2 || far.SentBytes != 300 || far.Dropped[DropRefused] != 1 {
			t.Errorf("got counters %+v and %+v, want two frames of 300 bytes, and one refused", near, far)
		}
		if got := <-done; got.n != 0 || got.err != nil || got.at.Sub(started) != time.Hour {
			t.Errorf("the read got %d frames and %v after %v, want none after an hour", got.n, got.err, got.at.Sub(started))
		}
		if d.w.WriteDirect([]Frame{{Bytes: frame(4, 100)}}) {
			t.Error("frames were processed after the read had returned, want them refused")
		}
	})
}

func TestNoWriterOvertakesFramesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectPair(t)
		done := d.read(-1)
		d.during = func() { d.far.Queue(0).Write(inParts(frame(2, 100))) }
		d.w.WriteDirect([]Frame{{Bytes: frame(1, 100)}})
		if d.w.WriteDirect([]Frame{{Bytes: frame(3, 100)}}) {
			t.Error("a frame was processed before one that waits, want it refused")
		}
		if got := <-done; got.n != 1 {
			t.Errorf("the read got %d frames, want the one that was written meanwhile", got.n)
		}
	})
}

// Read returns for its timeout, a Wake or Close, but not before the writer has finished.
func TestReadReturnsAfterTheWriterHasFinished(t *testing.T) {
	for name, cause := range map[string]func(*directPair){
		"timeout": func(*directPair) {},
		"Wake":    func(d *directPair) { d.near.Queue(0).Wake() },
		"Close":   func(d *directPair) { d.near.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDirectPair(t)
				done := d.read(time.Minute)
				d.during = func() {
					cause(d)
					time.Sleep(time.Hour)
					if d.w.WriteDirect([]Frame{{Bytes: frame(2, 100)}}) {
						t.Error("a second writer processes frames at the same time, want it refused")
					}
				}
				started := time.Now()
				d.w.WriteDirect([]Frame{{Bytes: frame(1, 100)}})
				got := <-done
				if got.n != 0 || errors.Is(got.err, net.ErrClosed) != (name == "Close") || got.at.Sub(started) != time.Hour {
					t.Errorf("the read got %d frames and %v after %v, want none after an hour", got.n, got.err, got.at.Sub(started))
				}
			})
		})
	}
}

// Several writers and a reader: each writer's frames are processed once, in order, by one goroutine
// at a time.
func TestDirectWritersKeepTheirOrder(t *testing.T) {
	const writers, frames = 4, 2000
	near, far := Pair(PairConfig{Depth: writers * frames})
	defer far.Close()
	var next [writers]int
	var busy, processed atomic.Int64
	process := func(batch []Frame) {
		if busy.Add(1) != 1 {
			t.Error("two goroutines process frames at the same time, want one")
		}
		for _, f := range batch {
			nth := int(binary.BigEndian.Uint16(f.Bytes[14:]))
			if w := nth % writers; nth/writers != next[w] {
				t.Errorf("writer %d: got frame %d, want %d", w, nth/writers, next[w])
			}
			next[nth%writers]++
		}
		busy.Add(-1)
		if processed.Add(int64(len(batch))) == writers*frames {
			near.Close()
		}
	}
	near.Queue(0).(DirectReader).ProcessDirect(process)
	var all sync.WaitGroup
	all.Go(func() {
		batch := make([]Frame, 8)
		for {
			n, err := near.Queue(0).Read(batch, time.Millisecond)
			if err != nil {
				return
			}
			process(batch[:n])
		}
	})
	for w := range writers {
		all.Go(func() {
			for i := range frames {
				if b := frame(i*writers+w, 60); !far.Queue(0).(DirectWriter).WriteDirect([]Frame{{Bytes: b}}) {
					far.Queue(0).Write(inParts(b))
				}
			}
		})
	}
	all.Wait()
	if got := processed.Load(); got != writers*frames {
		t.Errorf("%d frames were processed, want %d", got, writers*frames)
	}
}
