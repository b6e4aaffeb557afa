package link

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir/wire"
)

// arrival is the nth frame and its arrival time.
type arrival struct {
	nth int
	at  time.Duration
}

// along sends n frames of size bytes over an impaired link, one each interval, in virtual time, and
// returns their arrivals.
func along(t *testing.T, c ImpairConfig, n, size int, interval time.Duration) (got []arrival, counted Counters) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		near, far := Pair(PairConfig{Depth: 1 << 20})
		l, err := Impair(near, c)
		if err != nil {
			t.Fatal(err)
		}
		from, to := l.Queue(0), far.Queue(0)
		if c.In != (Impairment{}) {
			from, to = to, from
		}
		begin := time.Now()
		go func() { // until all is sent
			for i := range n {
				if !from.Write(inParts(frame(i, size))) {
					t.Errorf("frame %d was dropped by its sender's Write, want it accepted", i)
				}
				time.Sleep(interval)
			}
		}()
		for batch := make([]Frame, 8); ; {
			k, err := to.Read(batch, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if k == 0 {
				break // silence
			}
			for _, f := range batch[:k] {
				got = append(got, arrival{int(binary.BigEndian.Uint16(f.Bytes[14:])), time.Since(begin)})
			}
		}
		counted = l.Queue(0).Counters()
		l.Close()
		far.Close()
	})
	return got, counted
}

// bothWays tests an impairment of what is written, and of what is read.
func bothWays(t *testing.T, c Impairment, test func(t *testing.T, c ImpairConfig)) {
	t.Run("out", func(t *testing.T) { test(t, ImpairConfig{Seed: 1, Out: c}) })
	t.Run("in", func(t *testing.T) { test(t, ImpairConfig{Seed: 1, In: c}) })
}

func TestDelayIsAddedToEveryFrame(t *testing.T) {
	bothWays(t, Impairment{Delay: 70 * time.Millisecond}, func(t *testing.T, c ImpairConfig) {
		got, _ := along(t, c, 10, 100, time.Millisecond)
		var want []arrival
		for i := range 10 {
			want = append(want, arrival{i, 70*time.Millisecond + time.Duration(i)*time.Millisecond})
		}
		if !slices.Equal(got, want) {
			t.Errorf("came %v, want %v", got, want)
		}
	})
}

func TestDelayIsAccurateInRealTime(t *testing.T) {
	near, far := Pair(PairConfig{})
	defer far.Close()
	l, err := Impair(near, ImpairConfig{Out: Impairment{Delay: 5 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var sent [][]byte
	begin := time.Now()
	for i := range 100 {
		sent = append(sent, frame(i, 100))
		l.Queue(0).Write(inParts(sent[i]))
	}
	same(t, want(t, far.Queue(0), 100), sent)
	if took := time.Since(begin); took < 5*time.Millisecond {
		t.Errorf("frames arrived after %v, want 5 ms or more", took)
	}
}

func TestJitterKeepsTheOrder(t *testing.T) {
	bothWays(t, Impairment{Delay: 10 * time.Millisecond, Jitter: 20 * time.Millisecond}, func(t *testing.T, c ImpairConfig) {
		got, _ := along(t, c, 1000, 100, time.Millisecond)
		various := map[time.Duration]bool{}
		for i, a := range got {
			late := a.at - time.Duration(i)*time.Millisecond
			if various[late] = true; a.nth != i || late < 10*time.Millisecond || late > 30*time.Millisecond {
				t.Fatalf("%d came as number %d after %v, want it in order after 10 to 30 ms", a.nth, i, late)
			}
		}
		if len(got) != 1000 || len(various) < 100 {
			t.Errorf("got %d frames with %d different delays, want 1000 frames with at least 100", len(got), len(various))
		}
	})
}

func TestLossHasItsProbability(t *testing.T) {
	bothWays(t, Impairment{Loss: 0.1}, func(t *testing.T, c ImpairConfig) {
		got, counted := along(t, c, 10000, 100, 0)
		if lost := 10000 - len(got); lost < 880 || lost > 1120 || counted.Dropped[DropLost] != uint64(lost) {
			t.Errorf("%d of 10,000 were lost, and %d counted, want about 1,000", lost, counted.Dropped[DropLost])
		}
	})
}

func TestLossInBurstsHasItsMeanLength(t *testing.T) {
	bothWays(t, Impairment{Burst: Burst{Start: 0.01, End: 0.2}}, func(t *testing.T, c ImpairConfig) {
		got, _ := along(t, c, 20000, 100, 0)
		bursts, lost := 0, 0
		for i := 1; i < len(got); i++ {
			if gap := got[i].nth - got[i-1].nth - 1; gap > 0 {
				bursts, lost = bursts+1, lost+gap
			}
		}
		if mean := float64(lost) / float64(bursts); bursts < 120 || bursts > 280 || mean < 4 || mean > 6 {
			t.Errorf("%d bursts of %.1f frames on average, want about 190 of 5", bursts, mean)
		}
	})
}

// A path loses frames that are longer than MaxFrame, and no others.
func TestLongFramesAreLost(t *testing.T) {
	for size, want := range map[int]int{999: 10, 1000: 10, 1001: 0} {
		got, counted := along(t, ImpairConfig{Out: Impairment{MaxFrame: 1000}}, 10, size, time.Millisecond)
		if len(got) != want || counted.Dropped[DropLost] != uint64(10-want) {
			t.Errorf("frames of %d bytes: got %d, and %d counted as lost; want %d and %d", size, len(got), counted.Dropped[DropLost], want, 10-want)
		}
	}
}

func TestDuplicatesArriveInOrder(t *testing.T) {
	bothWays(t, Impairment{Duplicate: 0.2, Delay: time.Millisecond}, func(t *testing.T, c ImpairConfig) {
		got, _ := along(t, c, 1000, 100, time.Microsecond)
		times := map[int]int{}
		for i, a := range got {
			times[a.nth]++
			if i > 0 && a.nth < got[i-1].nth {
				t.Fatalf("frame %d arrived after frame %d, want duplicates in order", a.nth, got[i-1].nth)
			}
		}
		if twice := len(got) - 1000; len(times) != 1000 || twice < 150 || twice > 250 {
			t.Errorf("%d frames came, and %d twice, want 1,000 and about 200", len(times), twice)
		}
	})
}

func TestReorderedFramesOvertakeOthers(t *testing.T) {
	bothWays(t, Impairment{Reorder: 0.1, ReorderDelay: 5 * time.Millisecond}, func(t *testing.T, c ImpairConfig) {
		got, _ := along(t, c, 1000, 100, time.Millisecond)
		late := 0
		for _, a := range got {
			switch a.at - time.Duration(a.nth)*time.Millisecond {
			case 0:
			case 5 * time.Millisecond:
				late++
			default:
				t.Fatalf("frame %d arrived at %v, want 1 ms later than usual or in order", a.nth, a.at)
			}
		}
		if len(got) != 1000 || late < 70 || late > 130 || slices.IsSortedFunc(got, func(a, b arrival) int { return a.nth - b.nth }) {
			t.Errorf("of %d frames %d were late, want about 100 of 1,000, and others before them", len(got), late)
		}
	})
}

func TestRateLimitsThroughput(t *testing.T) {
	bothWays(t, Impairment{Rate: 8_000_000}, func(t *testing.T, c ImpairConfig) {
		got, _ := along(t, c, 50, 1000, 0)
		for i, a := range got {
			if want := time.Duration(i+1) * time.Millisecond; a.nth != i || a.at != want {
				t.Fatalf("%d came at %v, want 1,000 bytes each ms at 8 Mbit/s: %v", a.nth, a.at, want)
			}
		}
		if len(got) != 50 {
			t.Errorf("got %d frames, want 50", len(got))
		}
	})
}

func TestRateHasABoundedQueue(t *testing.T) {
	bothWays(t, Impairment{Rate: 8_000_000, QueueBytes: 10_000}, func(t *testing.T, c ImpairConfig) {
		got, counted := along(t, c, 50, 1000, 0)
		if len(got) != 10 || counted.Dropped[DropFull] != 40 {
			t.Errorf("%d came, %d found no room, want 10 and 40", len(got), counted.Dropped[DropFull])
		}
		if c.Out.QueueBytes /= 100; c.In != (Impairment{}) {
			c.In.QueueBytes /= 100
		}
		got, _ = along(t, c, 50, 1000, time.Millisecond)
		if len(got) != 50 {
			t.Errorf("%d frames arrived that found an empty queue, want 50, although they exceed it", len(got))
		}
	})
}

func TestASeedIsReproducible(t *testing.T) {
	c := Impairment{Delay: time.Millisecond, Jitter: 3 * time.Millisecond, Loss: 0.1, Burst: Burst{Start: 0.01, End: 0.3, Loss: 0.8}, Duplicate: 0.05, Reorder: 0.05, Rate: 10_000_000}
	first, _ := along(t, ImpairConfig{Seed: 7, Out: c}, 500, 300, 100*time.Microsecond)
	again, _ := along(t, ImpairConfig{Seed: 7, Out: c}, 500, 300, 100*time.Microsecond)
	other, _ := along(t, ImpairConfig{Seed: 8, Out: c}, 500, 300, 100*time.Microsecond)
	if !slices.Equal(first, again) {
		t.Error("two runs with one seed differ, want the same fates")
	}
	if slices.Equal(first, other) {
		t.Error("runs with two seeds are the same, want different fates")
	}
	delayed, _ := along(t, ImpairConfig{Seed: 7, Out: Impairment{Loss: 0.1, Delay: time.Second}}, 500, 300, 0)
	prompt, _ := along(t, ImpairConfig{Seed: 7, Out: Impairment{Loss: 0.1}}, 500, 300, 0)
	nth := func(all []arrival) (n []int) {
		for _, a := range all {
			n = append(n, a.nth)
		}
		return n
	}
	if !slices.Equal(nth(delayed), nth(prompt)) {
		t.Error("a delay changes which frames a seed loses, want the same ones")
	}
}

// With every config, a frame is not delivered before its time, keeps its order unless reordering is
// configured, and is either delivered or dropped.
func TestFatesAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 1)
		c := Impairment{
			Delay: time.Duration(rapid.IntRange(0, 1e9).Draw(t, "delay")), Jitter: time.Duration(rapid.IntRange(0, 1e8).Draw(t, "jitter")),
			Loss: share.Draw(t, "loss"), Burst: Burst{share.Draw(t, "begin"), rapid.Float64Range(0.01, 1).Draw(t, "end"), share.Draw(t, "burst loss")},
			Duplicate: share.Draw(t, "duplicate"), Reorder: float64(rapid.IntRange(0, 1).Draw(t, "reorder")) * 0.3,
			Rate: rapid.Int64Range(0, 1e9).Draw(t, "rate"), QueueBytes: rapid.IntRange(0, 1e6).Draw(t, "queue"),
			CoDel: rapid.Bool().Draw(t, "codel"),
		}
		w, err := NewFates(c, rapid.Uint64().Draw(t, "seed"), 1)
		if err != nil {
			t.Fatal(err)
		}
		now, last := time.Unix(1000, 0), time.Time{}
		for range 100 {
			now = now.Add(time.Duration(rapid.IntRange(0, 1e6).Draw(t, "pause")))
			at, times, why := w.Decide(now, rapid.IntRange(14, 65535).Draw(t, "size"))
			switch {
			case times == 0 && why != DropLost && why != DropFull && why != DropCoDel:
				t.Fatalf("got the drop reason %v, want lost, full or codel", why)
			case times > 0 && at.Before(now.Add(c.Delay)):
				t.Fatalf("the frame arrived after %v, want it no earlier than its delay of %v", at.Sub(now), c.Delay)
			case times > 0 && c.Reorder == 0 && at.Before(last):
				t.Fatalf("the frame overtook an earlier one by %v, want the order kept without Reorder", last.Sub(at))
			case times > 0:
				last = at
			}
		}
	})
}

func TestEachSegmentOfASuperframeHasItsOwnFate(t *testing.T) {
	for name, c := range map[string]ImpairConfig{"out": {Seed: 3, Out: Impairment{Loss: 0.5}}, "in": {Seed: 3, In: Impairment{Loss: 0.5}}} {
		t.Run(name, func(t *testing.T) {
			near, far := Pair(PairConfig{Superframe: 65535, Checksum: true})
			l, err := Impair(near, c)
			if err != nil {
				t.Fatal(err)
			}
			defer far.Close()
			defer l.Close()
			from, to := l.Queue(0), far.Queue(0)
			if name == "in" {
				from, to = to, from
			}
			if !from.Write(supers(60000, 1000, wire.ACK)) {
				t.Fatal("Write returned false for a superframe, want it accepted")
			}
			batch := make([]Frame, 100)
			n, err := to.Read(batch, waitLimit)
			if lost := l.Queue(0).Counters().Dropped[DropLost]; err != nil || n < 15 || n > 45 || n+int(lost) != 60 {
				t.Errorf("%d segments came and %d were lost (%v), want about half of 60", n, lost, err)
			}
			for i := range batch[:n] {
				if !batch[i].ChecksumOK {
					t.Error("a segment of a superframe has no valid checksum, want ChecksumOK")
				}
				checked(t, &batch[i], true)
			}
		})
	}
}

func TestCloseDropsFramesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := Pair(PairConfig{})
		defer far.Close()
		l, err := Impair(near, ImpairConfig{Out: Impairment{Delay: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			l.Queue(0).Write(inParts(frame(i, 100)))
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if n, err := far.Queue(0).Read(make([]Frame, 10), time.Minute); n != 0 || err != nil {
			t.Errorf("a closed link: got %d frames in flight, error %v; want none", n, err)
		}
		if got := l.Queue(0).Counters().Dropped[DropClosed]; got != 10 {
			t.Errorf("%d are counted as dropped, want 10", got)
		}
	})
}

// Set changes the impairment in use; frames in flight arrive when they would have arrived.
func TestSetChangesTheImpairment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := Pair(PairConfig{})
		defer far.Close()
		l, err := Impair(near, ImpairConfig{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		set := func(i Impairment) {
			if err := l.Set(ImpairConfig{Out: i, In: i}); err != nil {
				t.Fatal(err)
			}
		}
		both := func(nth int) (lost bool) { // sends a frame each way
			sent := l.Queue(0).Write(inParts(frame(nth, 100))) && far.Queue(0).Write(inParts(frame(nth, 100)))
			if !sent {
				t.Fatalf("Write returned false for frame %d, want it accepted", nth)
			}
			n, _ := far.Queue(0).Read(make([]Frame, 1), 0)
			m, _ := l.Queue(0).Read(make([]Frame, 1), 0)
			if n != m {
				t.Fatalf("frame %d: %d arrived on the way out and %d on the way in, want the same", nth, n, m)
			}
			return n == 0
		}
		if both(1) {
			t.Error("a frame was lost without impairments, want it to arrive")
		}
		if set(Impairment{Loss: 1}); !both(2) {
			t.Error("a frame arrived with a loss of 1, want it lost")
		}
		if set(Impairment{Delay: time.Second}); !both(3) {
			t.Error("a frame arrived at once, want it after its delay of a second")
		}
		if set(Impairment{}); both(4) {
			t.Error("a frame was lost after the impairments were removed, want it to arrive")
		}
		if err := l.Set(ImpairConfig{In: Impairment{Loss: 2}}); err == nil || both(5) {
			t.Errorf("an invalid impairment: got error %v, want one, and the current impairment unchanged", err)
		}
		same(t, want(t, far.Queue(0), 1), [][]byte{frame(3, 100)})
		same(t, want(t, l.Queue(0), 1), [][]byte{frame(3, 100)})
	})
}

func TestInvalidImpairmentsAreRejected(t *testing.T) {
	near, _ := Pair(PairConfig{})
	nan := 0.0
	nan /= nan
	for says, c := range map[string]Impairment{
		"Loss is 1.1":        {Loss: 1.1},
		"Loss is NaN":        {Loss: nan},
		"Duplicate is -0.1":  {Duplicate: -0.1},
		"Reorder is 2":       {Reorder: 2},
		"Burst.Loss is 7":    {Burst: Burst{Loss: 7}},
		"would never end":    {Burst: Burst{Start: 0.1}},
		"negative Delay":     {Delay: -1},
		"negative Delay, Ji": {Rate: -1},
		"or MaxFrame":        {MaxFrame: -1},
	} {
		for way, c := range map[string]ImpairConfig{"(Out)": {Out: c}, "(In)": {In: c}} {
			if _, err := Impair(near, c); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), way) {
				t.Errorf("%+v gave %v, want an error that says %q of %s", c, err, says, way)
			}
		}
	}
}
