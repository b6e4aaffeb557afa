package log

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestVectorsAreWhatTheEncoderMakes compares the files of docs/vectors/log with the encoder's.
// -update writes them.
func TestVectorsAreWhatTheEncoderMakes(t *testing.T) {
	made := t.TempDir()
	for _, v := range makeVectors(t) {
		if *update {
			v.write(t, vectors)
		}
		v.write(t, made)
		want, err := os.ReadDir(filepath.Join(made, v.name))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range want {
			name := filepath.Join(v.name, f.Name())
			a, err := os.ReadFile(filepath.Join(made, name))
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(vectors, name)); err != nil || string(a) != string(b) {
				t.Errorf("docs/vectors/log/%s: got other bytes than the encoder makes, want the same (go test -update writes them): %v", name, err)
			}
		}
	}
}

// expected is a file expect, read.
type expected struct {
	id               string
	first, end, next int64 // next is -1 if not asked
	lines            [][2]int64
	sums             []string
	bad              [][2]int64
	cut              map[int64]int64
	redacted, kept   []int64
}

func readExpected(t *testing.T, dir string) expected {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "expect"))
	if err != nil {
		t.Fatal(err)
	}
	e := expected{next: -1, cut: map[int64]int64{}}
	for line := range strings.Lines(string(text)) {
		var a, b int64
		var sum string
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word != "id" && word != "#" {
			if n, _ := fmt.Sscan(rest, &a, &b, &sum); n == 0 {
				t.Fatalf("%s/expect: got the line %q, want a number after the keyword", dir, line)
			}
		}
		switch word {
		case "#":
		case "id":
			e.id = rest
		case "first":
			e.first = a
		case "end":
			e.end = a
		case "next":
			e.next = a
		case "line":
			e.lines, e.sums = append(e.lines, [2]int64{a, b}), append(e.sums, sum)
		case "bad":
			e.bad = append(e.bad, [2]int64{a, b})
		case "cut":
			e.cut[a] = b
		case "redacted":
			e.redacted = append(e.redacted, a)
		case "kept":
			e.kept = append(e.kept, a)
		default:
			t.Fatalf("%s/expect: got the line %q, want a known keyword", dir, line)
		}
	}
	return e
}

func vectorFolders(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(vectors, "*", "expect"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got %d vectors and error %v, want one or more", vectors, len(files), err)
	}
	for i, f := range files {
		files[i] = filepath.Dir(f)
	}
	return files
}

// littleEndian says whether this machine can read the vector with a file committed.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

func TestVectorsAreReadAsExpected(t *testing.T) {
	for _, dir := range vectorFolders(t) {
		if filepath.Base(dir) == "committed" && !littleEndian() {
			continue
		}
		e := readExpected(t, dir)
		l := mustOpen(t, dir, Options{ReadOnly: true})
		if l.ID() != e.id || l.First() != e.first || l.Committed() != e.end {
			t.Errorf("%s: got id %s, first offset %d, end %d; want %s, %d, %d", dir, l.ID(), l.First(), l.Committed(), e.id, e.first, e.end)
		}
		got := all(t, l)
		if len(got) != len(e.lines) {
			t.Errorf("%s: got %d lines, want %d", dir, len(got), len(e.lines))
			continue
		}
		for i, text := range got {
			line := Line(text)
			if line.Offset() != e.lines[i][0] || int64(len(line)) != e.lines[i][1] || text[sumAt:sumAt+8] != e.sums[i] {
				t.Errorf("%s: line %d: got %q, want it at offset %d with %d bytes and sum %s", dir, i, text, e.lines[i][0], e.lines[i][1], e.sums[i])
			}
			if line.Redacted() != slices.Contains(e.redacted, line.Offset()) {
				t.Errorf("%s: line %d, %q: got Redacted() = %v, want the opposite", dir, i, text, line.Redacted())
			}
		}
	}
}

func TestVectorsAreContinuedAsExpected(t *testing.T) {
	for _, dir := range vectorFolders(t) {
		e := readExpected(t, dir)
		if e.next < 0 || filepath.Base(dir) == "committed" && !littleEndian() {
			continue
		}
		before := len(e.lines) + len(e.kept)
		l := mustOpen(t, copyRoom(t, dir, true), Options{})
		if b := mustAppend(t, l, entry("next")); b.First != e.next {
			t.Errorf("%s: got the next line at offset %d, want %d", dir, b.First, e.next)
		}
		if got := all(t, l); len(got) != before+1 {
			t.Errorf("%s: after an append: got %d lines, want %d and the new one", dir, len(got), before)
		}
		for base, size := range e.cut {
			if info, err := os.Stat(l.segmentPath(base)); err != nil || info.Size() != size {
				t.Errorf("%s: segment %d: got %d bytes and error %v, want it cut to %d", dir, base, info.Size(), err, size)
			}
		}
		for _, offset := range e.kept {
			if _, err := l.At(offset); err != nil {
				t.Errorf("%s: the whole line at offset %d, not yet committed: got %v, want it kept", dir, offset, err)
			}
		}
	}
}
