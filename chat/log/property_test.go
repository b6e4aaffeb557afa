package log

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/disk"

	"pgregory.net/rapid"
)

// TestAnySequenceKeepsOffsetsOrderAndText has two processes' Logs append, redact, retain and be
// opened again in any order, and writers die in the middle of a line, and wants the room to be what
// a list of lines would be.
func TestAnySequenceKeepsOffsetsOrderAndText(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "room")
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, dir: dir, now: noon}
		for i := range m.logs {
			m.open(i)
		}
		defer func() {
			for _, l := range m.logs {
				l.Close()
			}
			os.RemoveAll(dir)
		}()
		t.Repeat(map[string]func(*rapid.T){
			"append": m.append,
			"redact": m.redact,
			"retain": m.retain,
			"reopen": m.reopen,
			"die":    m.die,
			"":       m.check,
		})
	})
}

type model struct {
	t     *rapid.T
	dir   string
	logs  [2]*Log
	lines []string
	end   int64 // no line to come is before it
	now   time.Time
}

func (m *model) open(i int) {
	l, err := Open(m.dir, Options{Segment: 2000, Disk: noSync})
	if err != nil {
		m.t.Fatal(err)
	}
	m.logs[i] = l
}

func (m *model) any(t *rapid.T) int { return rapid.IntRange(0, 1).Draw(t, "process") }

func (m *model) append(t *rapid.T) {
	var batch []Entry
	for range rapid.IntRange(1, 6).Draw(t, "messages") {
		m.now = m.now.Add(time.Duration(rapid.IntRange(-1000, 60_000).Draw(t, "ms")) * time.Millisecond)
		text := strings.Map(func(r rune) rune {
			if r == '\r' || r == '\n' || r == 0 {
				return -1
			}
			return r
		}, rapid.StringN(0, 200, 800).Draw(t, "text"))
		tags := rapid.SampledFrom([]string{"", "account=ann", `account=bob;+draft/reply=x\:y`}).Draw(t, "tags")
		batch = append(batch, Entry{m.now, tags, ":ann!u@h PRIVMSG #room :" + text})
	}
	b, err := m.logs[m.any(t)].Append(batch)
	if err != nil {
		t.Fatal(err)
	}
	if b.First < m.end {
		t.Fatalf("got a line at offset %d, want %d or more (offsets are never reused)", b.First, m.end)
	}
	m.end = b.End
	for i, line := range b.Lines {
		if !strings.HasSuffix(string(line), " "+batch[i].Body+"\r\n") {
			t.Fatalf("Append(%q): got the line %q, want the text unchanged at its end", batch[i].Body, line)
		}
		m.lines = append(m.lines, string(line))
	}
}

func (m *model) redact(t *rapid.T) {
	if len(m.lines) == 0 {
		t.Skip("no line")
	}
	i := rapid.IntRange(0, len(m.lines)-1).Draw(t, "line")
	line := Line(m.lines[i])
	if err := m.logs[m.any(t)].Redact(line.Offset()); err != nil {
		t.Fatal(err)
	}
	without, _ := redacted(line)
	m.lines[i] = string(without)
}

func (m *model) retain(t *rapid.T) {
	limit := rapid.Int64Range(0, 10_000).Draw(t, "bytes")
	l := m.logs[m.any(t)]
	removed, err := l.Retain(0, limit, m.now)
	if err != nil {
		t.Fatal(err)
	}
	kept := slices.IndexFunc(m.lines, func(s string) bool { return Line(s).Offset() >= l.First() })
	if kept < 0 {
		kept = len(m.lines)
	}
	if gone := int64(len(strings.Join(m.lines[:kept], ""))); gone != removed {
		t.Fatalf("Retain: got %d bytes reported as removed, want %d", removed, gone)
	}
	m.lines = m.lines[kept:]
	if size := int64(len(strings.Join(m.lines, ""))); limit > 0 && size > limit && len(l.knownBases()) > 1 {
		t.Fatalf("Retain: got %d bytes left, want at most %d", size, limit)
	}
}

func (m *model) reopen(t *rapid.T) {
	i := m.any(t)
	m.logs[i].Close()
	m.open(i)
}

// die leaves what a writer leaves that is killed in the middle of a line.
func (m *model) die(t *rapid.T) {
	bases, _, err := listSegments(disk.System, m.dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(m.dir, segmentName(bases[len(bases)-1])), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := "@weir/sum=01234567;time=2026-11-21T12:00:00.000Z;msgid=abcdefgh-0 :ann!u@h PRIVMSG #room :never acknowledged\r"
	rest := line[:rapid.IntRange(1, len(line)).Draw(t, "torn")]
	if _, err := f.WriteString(rest); err != nil {
		t.Fatal(err)
	}
	m.end += int64(len(rest))
}

func (m *model) check(t *rapid.T) {
	for i, l := range m.logs {
		got, err := l.After(0, 1<<20)
		if err != nil || !same(got, m.lines) {
			t.Fatalf("process %d: After(0): got %d lines and error %v, want %d:\n got %q\nwant %q", i, len(got), err, len(m.lines), got, m.lines)
		}
		if len(got) == 0 {
			continue
		}
		n := rapid.IntRange(1, len(got)).Draw(t, "latest")
		if latest, err := l.Latest(n, l.Committed()); err != nil || !same(latest, m.lines[len(m.lines)-n:]) {
			t.Fatalf("process %d: Latest(%d): got %d lines and error %v, want the last %d of %d", i, n, len(latest), err, n, len(m.lines))
		}
		line := got[rapid.IntRange(0, len(got)-1).Draw(t, "seek")]
		first := slices.IndexFunc(got, func(l Line) bool { return !l.Time().Before(line.Time()) })
		if at, err := l.Seek(line.Time()); err != nil || at != got[first].Offset() {
			t.Fatalf("process %d: Seek(%v): got %d and error %v, want %d", i, line.Time(), at, err, got[first].Offset())
		}
	}
}

// FuzzReader reads any bytes as a segment, with padding or without: what is found stands there,
// both ways find the same, and a writer goes on behind it.
func FuzzReader(f *testing.F) {
	data, _ := lines(f, 0, everyKind[:4]...)
	for _, padding := range []uint16{0, 1, 511, 5000} {
		f.Add(data, padding)
		f.Add(data[:len(data)-3], padding)
		f.Add(append(data[:200:200], data...), padding)
		f.Add(append(make([]byte, 300), data...), padding)
		f.Add([]byte{}, padding)
	}
	dir := f.TempDir() // one for all: to make and remove files is what takes long
	f.Fuzz(func(t *testing.T, data []byte, padding uint16) {
		data = bytes.TrimRight(resum(data), "\x00")
		padded := append(data[:len(data):len(data)], make([]byte, padding)...)
		leftovers, _ := filepath.Glob(filepath.Join(dir, "*.log*"))
		for _, name := range leftovers {
			if filepath.Base(name) != segmentName(0) {
				os.Remove(name)
			}
		}
		for name, b := range map[string][]byte{"id": []byte("abcdefgh\n"), segmentName(0): padded, "committed": nil} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
			_ = os.Chmod(filepath.Join(dir, name), 0o600)
		}
		reader := mustOpen(t, dir, Options{ReadOnly: true})
		found := all(t, reader)
		for _, line := range found {
			if at := int(Line(line).Offset()); !strings.HasPrefix(string(data[at:]), line) {
				t.Errorf("got the line %q, want the bytes that the segment has at offset %d", line, at)
			}
		}
		if latest, err := reader.Latest(1<<20, reader.Committed()); err != nil || !same(latest, found) {
			t.Errorf("Latest: got %d lines and error %v, want the same %d as Stream", len(latest), err, len(found))
		}
		l := mustOpen(t, dir, Options{Disk: noSync})
		if r := l.Recovery(); r.Cut != int64(len(data))-reader.Committed() {
			t.Errorf("got %d bytes cut, want the %d behind the last line (padding is not counted)", r.Cut, int64(len(data))-reader.Committed())
		}
		l.activity.busyFrom = 1
		b := mustAppend(t, l, entry("next"))
		if b.First != int64(len(data)) {
			t.Errorf("got the next line at offset %d, want %d, where the padding started", b.First, len(data))
		}
		if got := all(t, l); fmt.Sprint(got) != fmt.Sprint(append(found, string(b.Bytes))) {
			t.Errorf("after a line was appended: got %q, want the lines read before and the new one: %q", got, found)
		}
	})
}

// resum gives lines their right sums, which a fuzzer hardly finds.
func resum(data []byte) []byte {
	data = slices.Clone(data)
	for rest := data; len(rest) > 0; {
		n := lineLength(rest)
		if n == 0 {
			break
		}
		if n >= minLine && n%2 == 0 {
			writeSum(rest[:n])
		}
		rest = rest[n:]
	}
	return data
}
