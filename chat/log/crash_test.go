package log

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// checkAfter opens a damaged room as a reader and as a writer: both find exactly want, and what is appended follows,
// at an offset that was never used.
func checkAfter(t *testing.T, what, dir string, want []string, used int64) {
	t.Helper()
	reader := mustOpen(t, dir, Options{ReadOnly: true})
	if got := all(t, reader); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: a reader finds %d lines, want %d\n%q", what, len(got), len(want), got)
	}
	for range 2 {
		l, err := Open(dir, Options{Segment: 600})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		b := mustAppend(t, l, entry("afterwards"))
		if b.First < used {
			t.Fatalf("%s: a new line goes to %d, offsets to %d were used", what, b.First, used)
		}
		want, used = append(want[:len(want):len(want)], string(b.Bytes)), b.End
		if got := all(t, l); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: a writer finds %d lines, want %d\n%q", what, len(got), len(want), got)
		}
		l.Close()
	}
	reader.Close()
}

// TestCutAtEveryByte cuts the last segment of a room that has no other place to look at all of its lengths.
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
			t.Errorf("cut to %d: %d bytes are reported as lost, want %d", size, lost, end-base-size)
		}
		if b := mustAppend(t, l, entry("afterwards")); b.First < end {
			t.Errorf("cut to %d: a new line goes to %d, offsets to %d were used", size, b.First, end)
		}
		l.Close()
	}
}

// TestRandomDamage cuts, overwrites and lengthens the tail behind what was committed, as a crash at any byte may.
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

// TestACrashBetweenAnyTwoSteps stops recovery at each call of the file system, as a kill would, and goes on with
// another process's eyes.
func TestACrashBetweenAnyTwoSteps(t *testing.T) {
	r := makeRoom(t, 14)
	name, base := lastSegment(t, r.dir)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	torn := len(data) - 20
	for step := 1; ; step++ {
		dir := copyRoom(t, r.dir, false)
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), data[:torn], 0o600); err != nil {
			t.Fatal(err)
		}
		dying := &faultFS{dieAt: step}
		l, err := Open(dir, Options{FS: dying})
		if err == nil {
			l.Close()
			if step < 5 {
				t.Fatalf("recovery took %d steps only", step)
			}
			return
		}
		checkAfter(t, fmt.Sprint("dead at step ", step), dir, r.lines[:len(r.lines)-1], base+int64(torn))
	}
}
