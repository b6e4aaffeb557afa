package log

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

// A text may hold what would be a line of its own, right sum and all, at the very place where it
// stands.
func TestALineInsideATextIsNotALine(t *testing.T) {
	l := mustOpen(t, t.TempDir(), Options{})
	mustAppend(t, l, entry("before"))
	const begin = ":mallory!m@h PRIVMSG #r :"
	at := l.Committed() + int64(len("@weir/sum=SSSSSSSS;time=2026-11-21T11:30:00.123Z;msgid=abcdefgh- "+begin)+len(strconv.FormatInt(l.Committed(), 10)))
	forged := encodeAt(t, l, at, ":alice!a@h PRIVMSG #r :I never said so")
	outer := mustAppend(t, l, Entry{Time: entry("").Time, Body: begin + strings.TrimSuffix(string(forged), "\r\n")}).First
	after := mustAppend(t, l, entry("after")).First

	if string(mustAt(t, l, outer)[at-outer:]) != string(forged) {
		t.Fatalf("the test's text does not stand at offset %d: got %q, want %q", at, mustAt(t, l, outer)[at-outer:], forged)
	}
	if line, err := l.At(at); !errors.Is(err, ErrNotFound) {
		t.Errorf("At(offset inside a text): got %q and error %v, want ErrNotFound", line, err)
	}
	if lines, err := l.After(at, 1); err != nil || len(lines) != 1 || lines[0].Offset() != after {
		t.Errorf("After(offset inside a text): got %q and error %v, want the line after the one with the text", lines, err)
	}
	if err := l.Redact(at); !errors.Is(err, ErrNotFound) {
		t.Errorf("Redact(offset inside a text): got %v, want ErrNotFound", err)
	}
	if n := len(all(t, l)); n != 3 {
		t.Errorf("Stream: got %d lines, want the 3 appended ones", n)
	}
}

// encodeAt is a line of this log as it would be at an offset.
func encodeAt(t *testing.T, l *Log, offset int64, body string) []byte {
	t.Helper()
	x := encoder{id: l.ID()}
	line, _, err := x.append(nil, &Entry{Time: entry("").Time, Body: body}, offset, 0)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func mustAt(t *testing.T, l *Log, offset int64) Line {
	t.Helper()
	line, err := l.At(offset)
	if err != nil {
		t.Fatal(err)
	}
	return line
}
