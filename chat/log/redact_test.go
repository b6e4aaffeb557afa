package log

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRedactWritesTheBytesOfTheVector redacts in the vector "plain" the lines that the vector
// "redacted" lists.
func TestRedactWritesTheBytesOfTheVector(t *testing.T) {
	e := readExpected(t, filepath.Join(vectors, "redacted"))
	dir := copyRoom(t, filepath.Join(vectors, "plain"), false)
	l := mustOpen(t, dir, Options{})
	for _, offset := range e.redacted {
		if err := l.Redact(offset); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(filepath.Join(vectors, "redacted", segmentName(0)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, segmentName(0))); err != nil || !bytes.Equal(got, want) {
		t.Errorf("after the redactions of the vector: error %v, got the segment\n%s\nwant\n%s", err, got, want)
	}
}

// TestRedactedTextIsGone searches all files of the room for the redacted text.
func TestRedactedTextIsGone(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir, Options{Segment: 500})
	other := mustOpen(t, dir, Options{Segment: 500})
	var secrets []int64
	for i := range 20 {
		if i%5 == 3 {
			secrets = append(secrets, mustAppend(t, l, entry("secret")).First)
		}
		mustAppend(t, other, entry("harmless"))
	}
	before := all(t, l)
	// one alone, and others in several segments
	if err := errors.Join(l.Redact(secrets[0]), l.Redact(secrets[1:]...)); err != nil {
		t.Fatal(err)
	}
	for _, offset := range secrets {
		if line, err := other.At(offset); err != nil || !line.Redacted() {
			t.Errorf("another process reads offset %d: got %q and error %v, want a redacted line", offset, line, err)
		}
	}
	mustAppend(t, other, entry("the other process goes on"))
	mustAppend(t, l, entry("so does this one"))
	if got := all(t, other); len(got) != len(before)+2 {
		t.Errorf("after two appends: got %d lines, want %d", len(got), len(before)+2)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		if b, err := os.ReadFile(name); err != nil || strings.Contains(string(b), "secret") {
			t.Errorf("%s contains the secret, want it removed: %v", name, err)
		}
	}
	if err := l.Redact(secrets[0]); err != nil {
		t.Errorf("Redact of a redacted line: got %v, want nil", err)
	}
	for _, offset := range []int64{-1, secrets[0] + 1, l.Committed(), 1 << 40} {
		if err := l.Redact(offset); !errors.Is(err, ErrNotFound) {
			t.Errorf("Redact(%d), which is no line's offset: got %v, want ErrNotFound", offset, err)
		}
	}
}

// TestAFollowingReaderMissesNothing has the reader keep the last segment open while redactions
// replace it again and again.
func TestAFollowingReaderMissesNothing(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{Segment: 1500, Disk: noSync})
	r := mustOpen(t, l.dir, Options{ReadOnly: true}).Stream(0)
	defer r.Close()
	for i := range 100 {
		b := mustAppend(t, l, entry("text"), entry("more"))
		for _, want := range b.Lines {
			if line, err := r.Next(); err != nil || string(line) != string(want) {
				t.Fatalf("batch %d: a reader got %q and error %v, want %q", i, line, err, want)
			}
		}
		if line, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("batch %d: a reader got %q and error %v, want io.EOF", i, line, err)
		}
		for range i % 3 {
			if err := l.Redact(b.First); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestRetainRemovesSegmentsPastTheAge(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{})
	day := 24 * time.Hour
	for d := range 100 { // a quiet room: everything would fit one segment
		now := noon.Add(time.Duration(d) * day)
		e := entry("message of the day")
		e.Time = now
		mustAppend(t, l, e)
		if _, err := l.Retain(20*day, 0, now); err != nil {
			t.Fatal(err)
		}
		lines, err := l.After(0, 1)
		if err != nil || len(lines) != 1 {
			t.Fatalf("After(0, 1): got %d lines and error %v, want 1 line", len(lines), err)
		}
		if age := now.Sub(lines[0].Time()); age > 26*day {
			t.Fatalf("day %d: got an oldest line of %v, want it removed", d, age)
		} else if d > 30 && age < 20*day {
			t.Fatalf("day %d: got an oldest line %v old, want all lines of the last 20 days kept", d, age)
		}
	}
	end := l.Committed()
	for range 3 { // no more writes: the remaining lines age
		if _, err := l.Retain(20*day, 0, noon.Add(1000*day)); err != nil {
			t.Fatal(err)
		}
	}
	if lines, err := l.Latest(10, end); err != nil || len(lines) != 0 {
		t.Errorf("after three years: got %d lines and error %v, want none", len(lines), err)
	}
	if b := mustAppend(t, l, entry("hello again")); b.First != end || l.First() != end {
		t.Errorf("got the next line at %d, want %d", b.First, end)
	}
}

func TestRetainLimitsTheSize(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{})
	other := mustOpen(t, l.dir, Options{})
	for i := range 500 {
		mustAppend(t, l, entry("some text to fill the room"))
		if i%10 != 0 {
			continue
		}
		before := other.First()
		removed, err := l.Retain(0, 20_000, noon)
		if err != nil {
			t.Fatal(err)
		}
		lines := all(t, other) // finds out that segments are gone
		if size := len(strings.Join(lines, "")); size > 20_000 || i > 200 && size < 13_000 {
			t.Fatalf("message %d: got %d bytes kept, want at most the limit", i, size)
		}
		if first := Line(lines[0]).Offset(); removed > 0 && first == before {
			t.Errorf("Retain: got %d bytes reported as removed and the first line still at offset %d, want it removed", removed, first)
		}
	}
}

// TestReadersContinueAfterRemovedSegments checks that readers go on with the oldest line that is
// left.
func TestReadersContinueAfterRemovedSegments(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{Segment: 500})
	beside := mustOpen(t, l.dir, Options{ReadOnly: true})
	for range 40 {
		mustAppend(t, l, entry("text"))
	}
	if len(all(t, beside)) != 40 {
		t.Fatal("a concurrent reader got fewer than 40 lines")
	}
	if _, err := l.Retain(0, 1500, noon); err != nil {
		t.Fatal(err)
	}
	kept := all(t, l)
	if got := all(t, beside); len(got) != len(kept) || len(kept) >= 40 || len(kept) == 0 {
		t.Errorf("after Retain: a concurrent reader got %d lines, want %d (some of 40, not all)", len(got), len(kept))
	}
	if lines, err := beside.Latest(100, beside.Committed()); err != nil || len(lines) != len(kept) {
		t.Errorf("Latest(100) after Retain: got %d lines and error %v, want %d", len(lines), err, len(kept))
	}
	if lines, err := beside.Latest(10, 300); err != nil || len(lines) != 0 {
		t.Errorf("Latest before the oldest line that is left: got %d lines and error %v, want none", len(lines), err)
	}
}

// TestAReaderSaysWhyASegmentCannotBeOpened checks the error for a segment that the folder still
// lists: it names the segment and does not say that segments are removed too fast.
func TestAReaderSaysWhyASegmentCannotBeOpened(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{})
	mustAppend(t, l, entry("text"))
	segment := l.segmentPath(0)
	if err := os.Remove(segment); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("missing", segment); err != nil {
		t.Fatal(err)
	}
	r := l.Stream(0)
	defer r.Close()
	line, err := r.Next()
	if err == nil || !strings.Contains(err.Error(), "lists a segment that cannot be opened") || !strings.Contains(err.Error(), segment) {
		t.Errorf("Next: got the line %q and error %v, want an error that names the segment %s as listed and not to be opened", line, err, segment)
	}
}
