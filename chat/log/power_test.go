package log

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/disk/simdisk"
	"weir/internal/testsize"
)

// TestPowerLossLosesNoAcknowledgedLine runs rooms on simulated disks that lose power, and whose
// processes are killed, at any call. A seed is one room.
func TestPowerLossLosesNoAcknowledgedLine(t *testing.T) {
	first := testsize.Of(t, "WEIR_FIRST_LOG_SEED", 1)
	for seed := range uint64(testsize.Of(t, "WEIR_LOG_POWER_SEEDS", 60)) {
		w := newPowerWorld(uint64(first) + seed)
		if err := w.run(); err != nil {
			t.Fatalf("seed %d: %v\n%s", uint64(first)+seed, err, strings.Join(w.trace, "\n"))
		}
	}
}

// storedLine is a line that the room must have.
type storedLine struct {
	text     string
	redacted bool
}

// powerWorld is a room on a disk, and what it must have.
type powerWorld struct {
	rng      *rand.Rand
	disk     *simdisk.Disk
	proc     *simdisk.Process // killed now and then
	log      *Log
	other    *Log // of a process that only a loss of power ends; nil: none
	busyFrom int  // number of batches from which on the logs are padded
	trace    []string

	stale  bool           // sectors that were never written have data of other files
	faulty bool           // some syncs have failed
	stream *Reader        // of other, open as long as that
	seen   map[int64]bool // offsets of the lines that stream has found

	lines     []storedLine      // acknowledged, or seen by a reader
	open      map[string]bool   // texts of batches without an answer
	redacting map[string]string // text to the redacted one, of calls without an answer
	retaining int64             // lines before it may be missing: a Retain without an answer
	texts     int               // number of texts so far
}

func newPowerWorld(seed uint64) *powerWorld {
	w := &powerWorld{rng: rand.New(rand.NewPCG(seed, 1)), disk: simdisk.New(seed)}
	w.stale = w.rng.IntN(2) == 0
	w.disk.ShowStale(w.stale)
	w.busyFrom = []int{1, 1, 2, 1000}[w.rng.IntN(4)]
	w.forget()
	return w
}

// forget forgets the calls without an answer.
func (w *powerWorld) forget() {
	w.open, w.redacting, w.retaining = map[string]bool{}, map[string]string{}, 0
}

func (w *powerWorld) note(format string, a ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, a...))
}

// run starts the room some times. Each run ends by a loss of power, a kill or a close, and the last
// start finds what was acknowledged.
func (w *powerWorld) run() error {
	for range 8 {
		w.proc = w.disk.Process()
		if w.rng.IntN(3) > 0 { // recovery is interrupted, too
			w.scheduleEnd()
		}
		if err := w.start(); err != nil && !w.ended() {
			return err
		}
		for range w.rng.IntN(25) {
			if w.ended() {
				break
			}
			if err := w.step(); err != nil {
				return err
			}
		}
		w.stop()
	}
	w.proc = w.disk.Process()
	return w.start()
}

// scheduleEnd chooses the call at which the power fails or the process is killed.
func (w *powerWorld) scheduleEnd() {
	n := 1 + w.rng.IntN(80)
	if w.rng.IntN(2) == 0 {
		w.note("the power fails in %d calls", n)
		w.disk.CrashAt(n)
	} else {
		w.note("the process is killed in %d calls", n)
		w.proc.KillAt(n, simdisk.Random)
	}
}

// ended reports whether all calls of the process fail.
func (w *powerWorld) ended() bool {
	_, err := w.proc.Stat("/")
	return err != nil
}

// stop ends the process, in one of three ways.
func (w *powerWorld) stop() {
	w.disk.CrashAt(0)
	w.disk.SetFaults(simdisk.Faults{})
	w.disk.SetSpace(-1)
	switch how := w.rng.IntN(3); {
	case how == 0 || w.disk.Crashed():
		w.note("loss of power")
		w.disk, w.other = w.disk.Crash(), nil
	case how == 1 || w.log == nil:
		w.note("kill")
		w.proc.Kill()
	default:
		w.note("close: %v", w.log.Close())
		w.proc.Kill()
	}
}

// start opens the room and compares it. From then on it must have what was seen.
func (w *powerWorld) start() (err error) {
	if w.log, err = Open("/rooms/#a", Options{Disk: w.proc, Segment: 700}); err != nil {
		return fmt.Errorf("Open: got %w, want the room to open", err)
	}
	w.log.activity.busyFrom = w.busyFrom
	w.note("open: %+v", w.log.Recovery())
	if bad := w.log.Recovery().Bad; bad > 0 && !w.stale && !w.faulty {
		return fmt.Errorf("got %d bad bytes that stay, want what a loss of power tore cut", bad)
	}
	if err = w.compare(w.log); err != nil || w.ended() || w.other != nil || w.rng.IntN(2) == 0 {
		return err
	}
	if w.other, err = Open("/rooms/#a", Options{Disk: w.disk.Process(), Segment: 700}); err != nil && !w.ended() {
		return fmt.Errorf("Open in another process: got %w, want the room to open", err)
	}
	if err == nil {
		w.other.activity.busyFrom = w.busyFrom
		w.stream, w.seen = w.other.Stream(0), map[int64]bool{}
	}
	return nil
}

// any returns the Log of one of the processes.
func (w *powerWorld) any() *Log {
	if w.other != nil && w.rng.IntN(3) == 0 {
		w.note("the other process:")
		return w.other
	}
	return w.log
}

// compare reads the room: it has each acknowledged line once and in order, and besides only lines
// of calls that had no answer.
func (w *powerWorld) compare(l *Log) error {
	lines, err := l.After(0, 1<<20)
	if err != nil {
		if w.ended() {
			return nil
		}
		return fmt.Errorf("After: got %w, want all lines", err)
	}
	var seen []storedLine
	rest := w.lines
	for _, line := range lines {
		text := string(line)
		for len(rest) > 0 && !w.isLine(rest[0], text) && Line(rest[0].text).Offset() < line.Offset() {
			if err := w.mayMiss(rest[0]); err != nil {
				return err
			}
			rest = rest[1:]
		}
		switch {
		case len(rest) > 0 && w.isLine(rest[0], text):
			seen = append(seen, storedLine{text, line.Redacted()})
			rest = rest[1:]
		case w.open[body(line)]:
			delete(w.open, body(line))
			seen = append(seen, storedLine{text, false})
		default:
			return fmt.Errorf("got the line %q, which was not appended, is there twice or is at a wrong place", text)
		}
	}
	for _, missing := range rest {
		if err := w.mayMiss(missing); err != nil {
			return err
		}
	}
	w.lines = seen
	w.forget()
	return nil
}

// isLine reports whether text may be a line: as it was, or redacted by a call without an answer.
func (w *powerWorld) isLine(l storedLine, text string) bool {
	return text == l.text || w.redacting[l.text] == text
}

// mayMiss returns an error unless a call without an answer may have removed a line.
func (w *powerWorld) mayMiss(l storedLine) error {
	if Line(l.text).Offset() < w.retaining {
		return nil
	}
	return fmt.Errorf("lost the acknowledged line %q", l.text)
}

func body(l Line) string { return strings.TrimSuffix(string(l.Plain()), "\r\n") }

// step makes a call, or lets the disk be bad for a while.
func (w *powerWorld) step() error {
	switch n := w.rng.IntN(20); {
	case n < 11:
		return w.append()
	case n < 13:
		return w.redact()
	case n < 14:
		return w.retain()
	case n < 15:
		return w.look()
	case n < 17:
		f := simdisk.Faults{SyncFile: 0.3 * w.rng.Float64(), SyncFolder: 0.3 * w.rng.Float64()}
		w.note("faults %+v", f)
		w.faulty = true
		w.disk.SetFaults(f)
	case n < 18:
		free := w.rng.Int64N(3000)
		w.note("%d bytes free", free)
		w.disk.SetSpace(free)
	default:
		w.note("no faults")
		w.disk.SetFaults(simdisk.Faults{})
		w.disk.SetSpace(-1)
	}
	return nil
}

// look compares what a reader sees, without faults. No refused batch is there before the next
// start, unless the disk refused to cut it and another process has restored the room.
func (w *powerWorld) look() error {
	w.disk.SetFaults(simdisk.Faults{})
	w.note("compare")
	before := *w
	if w.other == nil {
		w.open = map[string]bool{}
	} else {
		w.open = maps.Clone(w.open)
	}
	err := errors.Join(w.compare(w.any()), w.follow())
	w.lines, w.open, w.redacting, w.retaining = before.lines, before.open, before.redacting, before.retaining
	return err
}

// follow reads on in a stream that has a segment open: it finds what was acknowledged meanwhile.
func (w *powerWorld) follow() error {
	if w.other == nil || w.ended() {
		return nil
	}
	for {
		line, err := w.stream.Next()
		if errors.Is(err, io.EOF) || err != nil && w.ended() {
			break
		} else if err != nil {
			return fmt.Errorf("Next of an open stream: got %w, want all lines", err)
		}
		w.seen[line.Offset()] = true
	}
	for _, l := range w.lines {
		if !w.seen[Line(l.text).Offset()] && w.mayMiss(l) != nil {
			return fmt.Errorf("an open stream left out the acknowledged line %q", l.text)
		}
	}
	return nil
}

func (w *powerWorld) append() error {
	var batch []Entry
	for range 1 + w.rng.IntN(4) {
		w.texts++
		text := fmt.Sprint(w.texts, strings.Repeat(" x", w.rng.IntN(150)))
		batch = append(batch, Entry{noon.Add(time.Duration(w.texts) * time.Second), "account=ann", ":ann!u@h PRIVMSG #a :" + text})
	}
	b, err := w.any().Append(batch)
	w.note("append %d to %d, %v", w.texts-len(batch)+1, w.texts, err)
	if err != nil {
		for _, e := range batch {
			w.open[e.Body] = true
		}
		return w.refused("Append", err)
	}
	if n := len(w.lines); n > 0 && b.First < Line(w.lines[n-1].text).Offset()+int64(len(w.lines[n-1].text)) {
		return fmt.Errorf("got a line at offset %d, want one behind the last acknowledged one (offsets are never reused)", b.First)
	}
	for _, line := range b.Lines {
		w.lines = append(w.lines, storedLine{string(line), false})
	}
	return nil
}

// refused checks the error of a call that was refused.
func (w *powerWorld) refused(call string, err error) error {
	if w.ended() || errors.Is(err, ErrFull) || errors.Is(err, ErrFailing) {
		return nil
	}
	return fmt.Errorf("%s on a bad disk: got %w, want ErrFull or ErrFailing", call, err)
}

func (w *powerWorld) redact() error {
	if len(w.lines) == 0 {
		return nil
	}
	i := w.rng.IntN(len(w.lines))
	line := Line(w.lines[i].text)
	without, _ := redacted(line)
	err := w.any().Redact(line.Offset())
	w.note("redact %d, %v", line.Offset(), err)
	if errors.Is(err, ErrNotFound) {
		return w.mayMiss(w.lines[i])
	}
	if err != nil {
		w.redacting[string(line)] = string(without)
		return w.refused("Redact", err)
	}
	w.lines[i] = storedLine{string(without), true}
	return nil
}

func (w *powerWorld) retain() error {
	limit := int64(2000 + w.rng.IntN(6000))
	l := w.any()
	_, err := l.Retain(0, limit, noon)
	w.note("retain %d, first %d, %v", limit, l.First(), err)
	if err != nil {
		w.retaining = l.Committed()
		return w.refused("Retain", err)
	}
	first := l.First()
	w.lines = slices.DeleteFunc(w.lines, func(l storedLine) bool { return Line(l.text).Offset() < first })
	return nil
}

// powerRoom is a room on a disk, with lines in several segments and the last one nearly full.
func powerRoom(t *testing.T, seed uint64) (*simdisk.Disk, *simdisk.Process, *Log, []string) {
	t.Helper()
	d := simdisk.New(seed)
	p := d.Process()
	l := mustOpen(t, "/room", Options{Disk: p, Segment: 600})
	var lines []string
	for i := 0; len(l.knownBases()) < 3 || l.offsets.end()-l.activeBase < 600; i++ {
		lines = append(lines, string(mustAppend(t, l, entry(fmt.Sprint("message ", i))).Bytes))
	}
	return d, p, l, lines
}

// TestASegmentOfAKilledProcessHasADurableName kills a process before it has synced the name of a
// new segment. The next process appends to that segment.
func TestASegmentOfAKilledProcessHasADurableName(t *testing.T) {
	d, p, l, lines := powerRoom(t, 1)
	p.KillAt(4, simdisk.Before) // after fdatasync, chmod and create: the sync of the folder
	if _, err := l.Append([]Entry{entry("unanswered")}); !errors.Is(err, simdisk.ErrKilled) {
		t.Fatalf("Append: got %v, want the process to be killed", err)
	}
	next := mustOpen(t, "/room", Options{Disk: d.Process()})
	lines = append(lines, string(mustAppend(t, next, entry("acknowledged")).Bytes))
	wantAfterCrash(t, d, lines)
}

// TestARefusedBatchThatIsCutStaysCut interrupts the cut of a batch whose sync failed before the cut
// is synced, by a kill and by an error. Further batches follow, then a loss of power.
func TestARefusedBatchThatIsCutStaysCut(t *testing.T) {
	for _, killed := range []bool{true, false} {
		for seed := range uint64(20) {
			d := simdisk.New(seed)
			p := d.Process()
			l := mustOpen(t, "/room", Options{Disk: p})
			lines := []string{string(mustAppend(t, l, entry("acknowledged")).Bytes)}
			var syncs int
			d.SetFaults(simdisk.Faults{Fail: func(c simdisk.Call) (int, error) {
				if c.Op == simdisk.OpSync && c.Name != "/room" {
					if syncs++; syncs == 2 && killed {
						return 0, simdisk.ErrKilled
					}
					return 0, unix.EIO
				}
				return 0, nil
			}})
			if _, err := l.Append([]Entry{entry("refused")}); !errors.Is(err, ErrFailing) {
				t.Fatalf("Append: got %v, want ErrFailing", err)
			}
			d.SetFaults(simdisk.Faults{})
			if killed {
				p.Kill()
				l = mustOpen(t, "/room", Options{Disk: d.Process()})
			}
			lines = append(lines, string(mustAppend(t, l, entry("acknowledged, too")).Bytes))
			wantAfterCrash(t, d, lines)
		}
	}
}

// TestRetainSyncsWhatAnEarlierCallRemoved lets the sync of a removal fail. The next Retain, of this
// process or another, has nothing to remove, and must not acknowledge before that sync.
func TestRetainSyncsWhatAnEarlierCallRemoved(t *testing.T) {
	for _, another := range []bool{false, true} {
		retainAfterAFailure(t, another)
	}
}

func retainAfterAFailure(t *testing.T, another bool) {
	d, _, l, _ := powerRoom(t, 1)
	if _, err := l.Retain(0, 2300, noon); err != nil { // rolls, and removes nothing
		t.Fatal(err)
	}
	next := l
	if another {
		next = mustOpen(t, "/room", Options{Disk: d.Process(), Segment: 600})
	}
	d.SetFaults(simdisk.Faults{SyncFolder: 1})
	if _, err := l.Retain(0, 1000, noon); !errors.Is(err, ErrFailing) {
		t.Fatalf("Retain whose sync fails: got %v, want ErrFailing", err)
	}
	d.SetFaults(simdisk.Faults{})
	if _, err := next.Retain(0, 1000, noon); err != nil {
		t.Fatal(err)
	}
	wantAfterCrash(t, d, all(t, next))
}

// TestFlippedBitsTakeOnlyTheirLines changes bits of the segments at rest. The other lines are read,
// and more can be appended.
func TestFlippedBitsTakeOnlyTheirLines(t *testing.T) {
	for seed := range uint64(50) {
		d, _, l, lines := powerRoom(t, seed)
		name := l.segmentPath(l.knownBases()[seed%3])
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		d = d.Crash()
		flipped, err := d.FlipBits(name, 1)
		if err != nil {
			t.Fatal(err)
		}
		l = mustOpen(t, "/room", Options{Disk: d.Process()})
		lines = append(lines, string(mustAppend(t, l, entry("afterwards")).Bytes))
		got := all(t, l)
		missing := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(got, line) })
		if len(got)+len(missing) != len(lines) || len(missing) > 2 {
			t.Errorf("a bit at %d of %s was flipped: got %d of %d lines, want all but that and at most its neighbour", flipped[0], name, len(got), len(lines))
		}
	}
}
