package log

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/disk"
	"weir/internal/disk/simdisk"
	"weir/internal/durable"
)

// room is a log's folder with what was acknowledged in it.
type room struct {
	dir   string
	lines []string // in order, the last ones at the end of the last segment
	ends  []int64  // of the lines
}

// makeRoom writes n lines in segments of about 600 bytes.
func makeRoom(t testing.TB, n int) room {
	t.Helper()
	r := room{dir: t.TempDir()}
	l := mustOpen(t, r.dir, Options{Segment: 600})
	for i := range n {
		b := mustAppend(t, l, entry(fmt.Sprint("message ", i)))
		r.lines, r.ends = append(r.lines, string(b.Bytes)), append(r.ends, b.End)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

func lastSegment(t testing.TB, dir string) (name string, base int64) {
	t.Helper()
	bases, _, err := listSegments(disk.System, dir)
	if err != nil || len(bases) == 0 {
		t.Fatalf("%s: got %d segments and error %v, want one or more", dir, len(bases), err)
	}
	base = bases[len(bases)-1]
	return filepath.Join(dir, segmentName(base)), base
}

// checkAfter opens a damaged room as a reader and as a writer: both find exactly want, and what is
// appended follows, at an offset that was never used.
func checkAfter(t *testing.T, what string, on disk.FS, dir string, want []string, used int64) {
	t.Helper()
	reader := mustOpen(t, dir, Options{ReadOnly: true, Disk: on})
	if got := all(t, reader); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: a reader got %d lines, want %d:\n got %q\nwant %q", what, len(got), len(want), got, want)
	}
	for range 2 {
		l, err := Open(dir, Options{Segment: 600, Disk: on})
		if err != nil {
			t.Fatalf("%s: Open: got %v, want the room to open", what, err)
		}
		b := mustAppend(t, l, entry("afterwards"))
		if b.First < used {
			t.Fatalf("%s: got the new line at offset %d, want %d or more (offsets are never reused)", what, b.First, used)
		}
		want, used = append(want[:len(want):len(want)], string(b.Bytes)), b.End
		if got := all(t, l); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: a writer got %d lines, want %d:\n got %q\nwant %q", what, len(got), len(want), got, want)
		}
		l.Close()
	}
	reader.Close()
}

// TestRecoveryKeepsEveryWholeLineOfACutSegment cuts the last segment of a room without the file
// committed to each of its lengths.
func TestRecoveryKeepsEveryWholeLineOfACutSegment(t *testing.T) {
	r := makeRoom(t, 14)
	name, base := lastSegment(t, r.dir)
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	for size := range info.Size() + 1 {
		dir := copyRoom(t, r.dir, false)
		if err := os.Truncate(filepath.Join(dir, filepath.Base(name)), size); err != nil {
			t.Fatal(err)
		}
		whole := 0
		for whole < len(r.ends) && r.ends[whole] <= base+size {
			whole++
		}
		checkAfter(t, fmt.Sprint("cut to ", size), disk.System, dir, r.lines[:whole], base+size)
	}
}

// TestBytesCutBelowCommittedAreReportedAsLost cuts the last segment below the committed offset. The
// next line gets no offset that was lost.
func TestBytesCutBelowCommittedAreReportedAsLost(t *testing.T) {
	r := makeRoom(t, 14)
	name, base := lastSegment(t, r.dir)
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	end := r.ends[len(r.ends)-1]
	for size := int64(0); size < info.Size(); size += 7 {
		dir := copyRoom(t, r.dir, true)
		if err := os.Truncate(filepath.Join(dir, filepath.Base(name)), size); err != nil {
			t.Fatal(err)
		}
		l := mustOpen(t, dir, Options{})
		if lost := l.Recovery().Lost; lost != end-base-size {
			t.Errorf("segment cut to %d bytes: got %d bytes reported as lost, want %d", size, lost, end-base-size)
		}
		if b := mustAppend(t, l, entry("afterwards")); b.First < end {
			t.Errorf("segment cut to %d bytes: got the new line at offset %d, want %d or more (offsets are never reused)", size, b.First, end)
		}
		l.Close()
	}
}

// TestRecoveryRemovesADamagedTail replaces the last segment's bytes from a random one on, as a
// crash may.
func TestRecoveryRemovesADamagedTail(t *testing.T) {
	r := makeRoom(t, 14)
	name, base := lastSegment(t, r.dir)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		dir := copyRoom(t, r.dir, false)
		at := rng.IntN(len(data))
		kept := 0 // the lines before the damage
		for kept < len(r.ends) && r.ends[kept] <= base+int64(at) {
			kept++
		}
		damaged := append([]byte{}, data[:at]...)
		for range rng.IntN(400) { // rubbish, and what looks like the beginning of a line
			damaged = append(damaged, "@weir/sum=0;\r\n\x00\x80"[rng.IntN(16)])
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		// zeros at the end are padding: no line was ever there
		checkAfter(t, fmt.Sprint("seed ", seed), disk.System, dir, r.lines[:kept], base+int64(len(strings.TrimRight(string(damaged), "\x00"))))
	}
}

// TestRecoveryCompletesAfterAKillAtAnyStep stops recovery at each call that changes a file, as a
// kill would. Another process then opens the room.
func TestRecoveryCompletesAfterAKillAtAnyStep(t *testing.T) {
	r := makeRoom(t, 14)
	name, base := lastSegment(t, r.dir)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	whole := len(data) - 20
	tail := make([]byte, 3000) // some of the rooms have padding
	for i, moment := range slices.Concat(moments, moments) {
		for step, died := 1, true; died; step++ {
			d := loadRoom(t, r.dir, false)
			p := d.Process()
			torn := append(data[:whole:whole], tail[:i/len(moments)*len(tail)]...)
			if err := disk.WriteFile(p, "/room/"+filepath.Base(name), torn, 0o600); err != nil {
				t.Fatal(err)
			}
			p.KillAt(step, moment)
			_, err := Open("/room", Options{Disk: p})
			if died = err != nil; !died && step < 5 {
				t.Fatalf("recovery ended at step %d, want 5 steps or more that a kill can interrupt", step)
			}
			p.Kill()
			checkAfter(t, fmt.Sprint("killed ", moment, " step ", step), d.Process(), "/room", r.lines[:len(r.lines)-1], base+int64(whole))
		}
	}
}

// TestAKillAtAnyStepLosesNoLine stops a process at each call of each operation. Concurrent readers
// find no fewer lines than before, and another process that had the room open can append.
func TestAKillAtAnyStepLosesNoLine(t *testing.T) {
	whole := makeRoom(t, 14)
	damaged := room{copyRoom(t, whole.dir, true), nil, nil}
	name := filepath.Join(damaged.dir, segmentName(0))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[whole.ends[0]+100] ^= 1
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged.lines = append(append([]string{}, whole.lines[0]), whole.lines[2:]...)
	damaged.ends = append(append([]int64{}, whole.ends[0]), whole.ends[2:]...)
	for _, c := range []struct {
		name string
		room room
		do   func(l *Log) error
	}{
		{"append", whole, func(l *Log) error {
			for range 4 { // over the end of a segment
				if _, err := l.Append([]Entry{entry("one"), entry("two")}); err != nil {
					return err
				}
			}
			return nil
		}},
		{"redact in an old segment", whole, func(l *Log) error { return l.Redact(whole.ends[0]) }},
		{"redact in the last segment", whole, func(l *Log) error { return l.Redact(whole.ends[12]) }},
		{"retain", whole, func(l *Log) error { _, err := l.Retain(0, 1500, noon); return err }},
		{"repair", damaged, func(l *Log) error { _, err := l.Repair(); return err }},
	} {
		for i, moment := range slices.Concat(moments, moments) {
			busyFrom := []int{1000, 1}[i/len(moments)]
			for step, died := 1, true; died; step++ {
				died = dieIn(t, fmt.Sprint(c.name, ", killed ", moment, " step ", step, ", busy from ", busyFrom), c.room, moment, step, busyFrom, c.do)
			}
		}
	}
}

var moments = []simdisk.Moment{simdisk.Before, simdisk.During, simdisk.After}

// dieIn runs do on a copy of a room and kills its process at a step. Then the power fails. It
// reports whether do reached the step. busyFrom is 1 for a room with padding.
func dieIn(t *testing.T, what string, r room, moment simdisk.Moment, step, busyFrom int, do func(*Log) error) (died bool) {
	t.Helper()
	d := loadRoom(t, r.dir, true)
	others, p := d.Process(), d.Process()
	other := mustOpen(t, "/room", Options{Segment: 600, Disk: others})
	l := mustOpen(t, "/room", Options{Segment: 600, Disk: p})
	l.activity.busyFrom = busyFrom
	if busyFrom == 1 { // there is padding before
		r.lines = append(r.lines[:len(r.lines):len(r.lines)], string(mustAppend(t, l, entry("padded")).Bytes))
	}
	p.KillAt(step, moment)
	died = do(l) != nil
	p.Kill()

	reader := mustOpen(t, "/room", Options{ReadOnly: true, Disk: others})
	wantNoLess(t, what+": a reader", all(t, reader), r.lines)
	b := mustAppend(t, other, entry("afterwards"))
	got := all(t, other)
	if last := got[len(got)-1]; last != string(b.Bytes) {
		t.Fatalf("%s: another process appended %q: got %q as the last line, want the appended one", what, b.Bytes, last)
	}
	wantNoLess(t, what+": the other process", got, r.lines)
	for range 3 {
		after := all(t, mustOpen(t, "/room", Options{Disk: d.Crash().Process()}))
		wantNoLess(t, what+": after a loss of power", after, r.lines)
		if last := after[len(after)-1]; last != string(b.Bytes) {
			t.Fatalf("%s: after a loss of power: got %q as the last line, want %q", what, last, b.Bytes)
		}
	}
	return died
}

// loadRoom copies the files of a room to a simulated disk, in the folder /room, durably.
func loadRoom(t testing.TB, from string, committed bool) *simdisk.Disk {
	t.Helper()
	d := simdisk.New(1)
	p := d.Process()
	from = copyRoom(t, from, committed)
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	files := durable.Files{Disk: p}
	if err := files.MkdirAll("/room", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := files.ReplaceFile("/room/"+e.Name(), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// wantNoLess wants the lines that were acknowledged in their order, each as it was or redacted.
// Retention may have taken some from the beginning; at the end there may be others.
func wantNoLess(t *testing.T, what string, got, acknowledged []string) {
	t.Helper()
	if len(got) == 0 {
		t.Fatalf("%s got 0 lines, want the %d acknowledged ones", what, len(acknowledged))
	}
	want := acknowledged
	for len(want) > 0 && Line(want[0]).Offset() < Line(got[0]).Offset() {
		want = want[1:]
	}
	if removed := len(acknowledged) - len(want); removed > 0 && !strings.Contains(what, "retain") || len(want) < 4 {
		t.Fatalf("%s got lines without the first %d of the %d acknowledged ones, want all (only Retain may remove the oldest, and must leave 4)", what, removed, len(acknowledged))
	}
	for i, w := range want {
		without, _ := redacted(Line(w))
		if i >= len(got) || got[i] != w && got[i] != string(without) {
			t.Fatalf("%s got %d lines, want %q or its redacted form as line %d:\n%q", what, len(got), w, i, got)
		}
	}
}
