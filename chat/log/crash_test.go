package log

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	bases, _, err := listSegments(dir)
	if err != nil || len(bases) == 0 {
		t.Fatalf("%s: no segments: %v", dir, err)
	}
	base = bases[len(bases)-1]
	return filepath.Join(dir, segmentName(base)), base
}

// checkAfter opens a damaged room as a reader and as a writer: both find exactly want, and what is
// appended follows, at an offset that was never used.
func checkAfter(t *testing.T, what, dir string, want []string, used int64) {
	t.Helper()
	reader := mustOpen(t, dir, Options{ReadOnly: true})
	if got := all(t, reader); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: a reader got %d lines, want %d\n%q", what, len(got), len(want), got)
	}
	for range 2 {
		l, err := Open(dir, Options{Segment: 600})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		b := mustAppend(t, l, entry("afterwards"))
		if b.First < used {
			t.Fatalf("%s: got the new line at %d, want it at %d or later", what, b.First, used)
		}
		want, used = append(want[:len(want):len(want)], string(b.Bytes)), b.End
		if got := all(t, l); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: a writer got %d lines, want %d\n%q", what, len(got), len(want), got)
		}
		l.Close()
	}
	reader.Close()
}

// TestCutAtEveryByte cuts the last segment of a room that has no other place to look at all of its
// lengths.
func TestCutAtEveryByte(t *testing.T) {
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
		checkAfter(t, fmt.Sprint("cut to ", size), dir, r.lines[:whole], base+size)
	}
}

// TestCutBelowCommitted: what is missing is reported, and its offsets are not used again.
func TestCutBelowCommitted(t *testing.T) {
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
			t.Errorf("cut to %d: got %d bytes reported as lost, want %d", size, lost, end-base-size)
		}
		if b := mustAppend(t, l, entry("afterwards")); b.First < end {
			t.Errorf("cut to %d: got the new line at %d, want it at %d or later", size, b.First, end)
		}
		l.Close()
	}
}

// TestRandomDamage cuts, overwrites and lengthens the tail behind what was committed, as a crash at
// any byte may.
func TestRandomDamage(t *testing.T) {
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
		checkAfter(t, fmt.Sprint("seed ", seed), dir, r.lines[:kept], base+int64(len(damaged)))
	}
}

// TestDeathInRecovery stops recovery at each call that changes something, as a kill would, and goes
// on with another process's eyes.
func TestDeathInRecovery(t *testing.T) {
	r := makeRoom(t, 14)
	name, base := lastSegment(t, r.dir)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	whole := len(data) - 20
	for _, dying := range []way{before, torn, after} {
		for step, died := 1, true; died; step++ {
			dir := copyRoom(t, r.dir, false)
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), data[:whole], 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := Open(dir, Options{FS: &faultFS{dieAt: step, dying: dying}})
			if died = err != nil; !died {
				l.Close()
				if step < 5 {
					t.Fatalf("recovery took only %d steps, want more", step)
				}
			}
			checkAfter(t, fmt.Sprint("dead ", dying, " step ", step), dir, r.lines[:len(r.lines)-1], base+int64(whole))
		}
	}
}

// TestDeathAtAnyStep has a process die at each call of each thing that it may do. Readers beside it
// find no less than before, and another process that had the room open goes on.
func TestDeathAtAnyStep(t *testing.T) {
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
		{"retain", whole, func(l *Log) error { _, err := l.Retain(0, 1000, noon); return err }},
		{"repair", damaged, func(l *Log) error { _, err := l.Repair(); return err }},
	} {
		for _, dying := range []way{before, torn, after} {
			for step, died := 1, true; died; step++ {
				died = dieIn(t, fmt.Sprint(c.name, ", dead ", dying, " step ", step), c.room, &faultFS{dying: dying}, step, c.do)
			}
		}
	}
}

// dieIn runs do on a copy of a room until a step. It says whether do came as far.
func dieIn(t *testing.T, what string, r room, fs *faultFS, step int, do func(*Log) error) (died bool) {
	t.Helper()
	dir := copyRoom(t, r.dir, true)
	other := mustOpen(t, dir, Options{Segment: 600})
	l := mustOpen(t, dir, Options{Segment: 600, FS: fs})
	fs.dieAt = int(fs.calls.Load()) + step
	died = do(l) != nil
	l.Close() // the system gives back a dead process's locks

	reader := mustOpen(t, dir, Options{ReadOnly: true})
	wantNoLess(t, what+": a reader", all(t, reader), r.lines)
	b := mustAppend(t, other, entry("afterwards"))
	got := all(t, other)
	if last := got[len(got)-1]; last != string(b.Bytes) {
		t.Fatalf("%s: the line appended afterwards is not the last one, %q is", what, last)
	}
	wantNoLess(t, what+": the other process", got, r.lines)
	wantNoLess(t, what+": who opens the room", all(t, mustOpen(t, copyRoom(t, dir, false), Options{})), r.lines)
	reader.Close()
	other.Close()
	return died
}

// wantNoLess wants the lines that were acknowledged in their order, each as it was or redacted.
// Retention may have taken some from the beginning; at the end there may be others.
func wantNoLess(t *testing.T, what string, got, acknowledged []string) {
	t.Helper()
	if len(got) == 0 {
		t.Fatalf("%s finds no lines", what)
	}
	want := acknowledged
	for len(want) > 0 && Line(want[0]).Offset() < Line(got[0]).Offset() {
		want = want[1:]
	}
	if removed := len(acknowledged) - len(want); removed > 0 && !strings.Contains(what, "retain") || len(want) < 4 {
		t.Fatalf("%s does not find the first %d of %d lines", what, removed, len(acknowledged))
	}
	for i, w := range want {
		without, _ := redacted(Line(w))
		if i >= len(got) || got[i] != w && got[i] != string(without) {
			t.Fatalf("%s finds %d lines, and not %q at place %d:\n%q", what, len(got), w, i, got)
		}
	}
}
