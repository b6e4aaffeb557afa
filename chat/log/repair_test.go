package log

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/disk"
)

// TestInspectReportsTheFaultsOfTheVectors checks that invalid bytes and overlaps are faults, and
// that a torn tail after the committed offset is none.
func TestInspectReportsTheFaultsOfTheVectors(t *testing.T) {
	for _, dir := range vectorFolders(t) {
		name := filepath.Base(dir)
		if name == "committed" && !littleEndian() {
			continue
		}
		e := readExpected(t, dir)
		r, err := Inspect(dir)
		if err != nil {
			t.Errorf("%s: Inspect: got %v, want a report", name, err)
			continue
		}
		if r.ID != e.id || r.Lines != int64(len(e.lines)) || r.First != e.first || r.Committed != e.end || r.Redacted != int64(len(e.redacted)) {
			t.Errorf("%s: Inspect: got %+v, want id %s, %d lines, first offset %d, committed %d, %d redacted", name, r, e.id, len(e.lines), e.first, e.end, len(e.redacted))
		}
		want := len(e.bad)
		if name == "overlap" {
			want++
		}
		if len(r.Faults) != want {
			t.Errorf("%s: Inspect: got the faults %+v, want %d", name, r.Faults, want)
		}
		for i, bad := range e.bad {
			if r.Faults[i].Offset != bad[0] || r.Faults[i].Length != bad[1] {
				t.Errorf("%s: Inspect: got the fault %+v, want %d bytes at offset %d", name, r.Faults[i], bad[1], bad[0])
			}
		}
	}
}

// TestRepairKeepsEveryWholeLine changes bytes in the middle of a room. After the repair, the Log
// that repaired it and one that had it open find all whole lines and no fault.
func TestRepairKeepsEveryWholeLine(t *testing.T) {
	r := makeRoom(t, 30)
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		dir := copyRoom(t, r.dir, true)
		other := mustOpen(t, dir, Options{Segment: 600})
		bases, _, err := listSegments(disk.System, dir)
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(3) {
			damage(t, filepath.Join(dir, segmentName(bases[rng.IntN(len(bases))])), rng)
		}
		want := all(t, other)
		l := mustOpen(t, dir, Options{Segment: 600})
		done, err := l.Repair()
		if err != nil {
			t.Fatalf("seed %d: Repair: got %v, want nil", seed, err)
		}
		for _, reader := range []*Log{l, other, mustOpen(t, copyRoom(t, dir, false), Options{ReadOnly: true})} {
			if got := all(t, reader); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d: after the repair: got %d lines, want the %d readable ones", seed, len(got), len(want))
			}
		}
		if report, err := Inspect(dir); err != nil || len(report.Faults) > 0 {
			t.Errorf("seed %d: Inspect after the repair: got %+v and error %v, want no faults", seed, report, err)
		}
		for _, d := range done {
			if _, err := os.Stat(d.Kept); err != nil {
				t.Errorf("seed %d: got no copy of the damaged segment, want it kept: %v", seed, err)
			}
		}
		for i, w := range []*Log{other, l, other} {
			want = append(want, string(mustAppend(t, w, entry(fmt.Sprint("afterwards ", i))).Bytes))
		}
		if got := all(t, other); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: after the repair and an append: got %d lines, want %d", seed, len(got), len(want))
		}
		if again, err := l.Repair(); err != nil || len(again) > 0 {
			t.Errorf("seed %d: a second repair: got %+v, %v; want nothing to do", seed, again, err)
		}
		other.Close()
		l.Close()
	}
}

// damage overwrites some bytes of a file in place.
func damage(t *testing.T, name string, rng *rand.Rand) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1+rng.IntN(200))
	for i := range b {
		b[i] = "\n\r\x00@x"[rng.IntN(5)]
	}
	at := rng.Int64N(info.Size())
	if _, err := f.WriteAt(b[:min(int64(len(b)), info.Size()-at)], at); err != nil {
		t.Fatal(err)
	}
}

// TestRepairPutsLinesAtTheirOffsets repairs a room from which an editor deleted a line, and whose
// last segment was renamed.
func TestRepairPutsLinesAtTheirOffsets(t *testing.T) {
	r := makeRoom(t, 20)
	name := filepath.Join(r.dir, segmentName(0))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	without := append(append([]byte{}, data[:r.ends[0]]...), data[r.ends[1]:]...)
	if err := os.WriteFile(name, without, 0o600); err != nil {
		t.Fatal(err)
	}
	last, base := lastSegment(t, r.dir)
	if err := os.Rename(last, filepath.Join(r.dir, segmentName(base-3))); err != nil {
		t.Fatal(err)
	}
	want := append([]string{r.lines[0]}, r.lines[2:]...)
	l := mustOpen(t, copyRoom(t, r.dir, true), Options{})
	if _, err := l.Repair(); err != nil {
		t.Fatal(err)
	}
	got := all(t, l)
	for i, line := range want {
		// the segment with a wrong name looked like a torn tail: its lines are kept beside
		if Line(line).Offset() >= base {
			want = want[:i]
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after the repair: got %d lines, want %d:\n got %q\nwant %q", len(got), len(want), got, want)
	}
	if kept, _ := filepath.Glob(filepath.Join(l.dir, "*.damaged")); len(kept) != 2 {
		t.Errorf("got the files %q, want two damaged segments kept", kept)
	}
}
