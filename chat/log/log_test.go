package log

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/disk"
)

func mustOpen(t testing.TB, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func entry(text string) Entry {
	return Entry{noon, "account=ann", ":ann!u@h PRIVMSG #room :" + text}
}

func mustAppend(t testing.TB, l *Log, entries ...Entry) Batch {
	t.Helper()
	b, err := l.Append(entries)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// all reads every line.
func all(t testing.TB, l *Log) []string {
	t.Helper()
	r := l.Stream(0)
	defer r.Close()
	var lines []string
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
}

// copyRoom copies the files of a room, all but its locks and what they guard.
func copyRoom(t testing.TB, from string, committed bool) string {
	t.Helper()
	to := t.TempDir()
	names, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if n.Name() == "lock" || n.Name() == "committed" && !committed {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, n.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, n.Name()), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func TestReadersGetWhatWasAppended(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rooms", "#room")
	l := mustOpen(t, dir, Options{Segment: 1000})
	var want []string
	for i := range 20 {
		var batch []Entry
		for j := range i%4 + 1 {
			batch = append(batch, entry(fmt.Sprint("message ", i, " ", j)))
		}
		b := mustAppend(t, l, batch...)
		if len(b.Lines) != len(batch) || b.End != l.Committed() || b.First+int64(len(b.Bytes)) != b.End {
			t.Fatalf("batch %d: got %d lines from %d to %d, committed offset %d; want %d lines of %d bytes that end at the committed offset", i, len(b.Lines), b.First, b.End, l.Committed(), len(batch), len(b.Bytes))
		}
		for _, line := range b.Lines {
			want = append(want, string(line))
		}
	}
	for _, again := range []*Log{l, mustOpen(t, dir, Options{}), mustOpen(t, dir, Options{ReadOnly: true}), mustOpen(t, copyRoom(t, dir, false), Options{ReadOnly: true})} {
		got := all(t, again)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %d lines, want %d:\n got %q\nwant %q", len(got), len(want), got, want)
		}
		if again.ID() != l.ID() || again.Committed() != l.Committed() {
			t.Errorf("opened again: got id %s, committed offset %d; want %s, %d", again.ID(), again.Committed(), l.ID(), l.Committed())
		}
	}
	bases, _, _ := listSegments(disk.System, dir)
	if len(bases) < 4 {
		t.Errorf("got %d segments, want 4 or more", len(bases))
	}
	for i, base := range bases {
		info, err := os.Stat(l.segmentPath(base))
		if err != nil {
			t.Fatal(err)
		}
		if finished := info.Mode().Perm() == finishedMode; finished != (i+1 < len(bases)) {
			t.Errorf("segment %d of %d: got mode %v, want %v for all but the last", i, len(bases), info.Mode(), finishedMode)
		}
	}
}

func TestLatestAfterAtAndSeekFindTheirLines(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{Segment: 10_000})
	var lines []string
	var offsets []int64
	for i := range 500 {
		e := entry(fmt.Sprint("message ", i))
		e.Time = noon.Add(time.Duration(i/3) * time.Second)
		b := mustAppend(t, l, e)
		lines, offsets = append(lines, string(b.Bytes)), append(offsets, b.First)
	}
	offsets = append(offsets, l.Committed())
	for _, n := range []int{0, 1, 2, 50, 499, 500, 501} {
		for _, before := range []int{0, 1, 2, 100, 499, 500} {
			got, err := l.Latest(n, offsets[before])
			want := lines[max(0, before-n):before]
			if err != nil || !same(got, want) {
				t.Errorf("Latest(%d) before line %d: got %d lines and error %v, want lines %d to %d", n, before, len(got), err, max(0, before-n), before)
			}
			got, err = l.After(offsets[before], n)
			want = lines[before:min(500, before+n)]
			if err != nil || !same(got, want) {
				t.Errorf("After(%d) from line %d: got %d lines and error %v, want lines %d to %d", n, before, len(got), err, before, min(500, before+n))
			}
		}
	}
	for i, offset := range offsets[:500] {
		if line, err := l.At(offset); err != nil || string(line) != lines[i] {
			t.Errorf("At(%d): got %q and error %v, want %q", offset, line, err, lines[i])
		}
		first := i - i%3 // three lines have the same time
		if at, err := l.Seek(noon.Add(time.Duration(i/3) * time.Second)); err != nil || at != offsets[first] {
			t.Errorf("Seek(time of line %d): got %d and error %v, want %d, the first line of that time", i, at, err, offsets[first])
		}
	}
	for _, offset := range []int64{-1, 1, offsets[3] + 1, offsets[500], 1 << 50} {
		if line, err := l.At(offset); !errors.Is(err, ErrNotFound) {
			t.Errorf("At(%d), which is no line's offset: got %q and error %v, want ErrNotFound", offset, line, err)
		}
	}
	if at, err := l.Seek(noon.Add(time.Hour)); err != nil || at != l.Committed() {
		t.Errorf("Seek(time after all lines): got %d and error %v, want the committed offset %d", at, err, l.Committed())
	}
}

func same(got []Line, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if string(got[i]) != want[i] {
			return false
		}
	}
	return true
}

// TestLinesOfMaximumLengthAreRead reads them by Stream, Latest and After.
func TestLinesOfMaximumLengthAreRead(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{Segment: 100_000})
	var want []string
	for i := range 30 {
		e := entry("")
		e.Body += strings.Repeat(string(rune('a'+i%26)), MaxLine-len(encode(t, e, l.Committed())))
		b := mustAppend(t, l, e)
		if len(b.Bytes) != MaxLine {
			t.Fatalf("got a line of %d bytes, want %d", len(b.Bytes), MaxLine)
		}
		want = append(want, string(b.Bytes))
		e.Body += "x"
		if _, err := l.Append([]Entry{entry("fits"), e}); !errors.Is(err, ErrTooLong) {
			t.Fatalf("Append of a longer line: got %v, want ErrTooLong", err)
		}
	}
	if got := all(t, l); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Stream of lines of maximum length: got %d lines, want %d", len(got), len(want))
	}
	if got, err := l.Latest(100, l.Committed()); err != nil || !same(got, want) {
		t.Errorf("Latest of lines of maximum length: got %d lines and error %v, want %d", len(got), err, len(want))
	}
	if got, err := l.After(0, 100); err != nil || !same(got, want) {
		t.Errorf("After of lines of maximum length: got %d lines and error %v, want %d", len(got), err, len(want))
	}
	if _, err := mustOpen(t, l.dir, Options{}).Append([]Entry{entry("by another process, which looks for the last line's time")}); err != nil {
		t.Errorf("Append after lines of maximum length, by another Log: got %v, want nil", err)
	}
}

func TestReadOnlyAndClosedLogsRejectChanges(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{})
	mustAppend(t, l, entry("text"))
	reader := mustOpen(t, l.dir, Options{ReadOnly: true})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close again: got %v, want nil", err)
	}
	for closed, want := range map[*Log]error{l: ErrClosed, reader: ErrReadOnly} {
		_, err := closed.Append([]Entry{entry("text")})
		_, err2 := closed.Retain(0, 1, noon)
		_, err3 := closed.Repair()
		for _, err := range []error{err, err2, err3, closed.Redact(0)} {
			if !errors.Is(err, want) {
				t.Errorf("Append, Retain, Repair or Redact: got %v, want %v", err, want)
			}
		}
	}
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nowhere")} {
		if _, err := Open(dir, Options{ReadOnly: true}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("Open(%s) for reading where no room is: got %v, want an error that names the folder", dir, err)
		}
	}
}
