package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/chat/log"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// room opens a room's log for writing.
func room(t *testing.T, dir, path string) *log.Log {
	t.Helper()
	l, err := log.Open(filepath.Join(dir, path), log.Options{Segment: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

var sinceNoon time.Duration // time of the last message after noon; every message is a second later

func say(t *testing.T, l *log.Log, nick, text string) string {
	t.Helper()
	sinceNoon += time.Second
	b, err := l.Append([]log.Entry{{Time: noon.Add(sinceNoon), Tags: "account=" + nick, Body: ":" + nick + "!u@h PRIVMSG #r :" + text}})
	if err != nil {
		t.Fatal(err)
	}
	return b.Lines[0].MsgID()
}

func index(t *testing.T, dir string) *Index {
	t.Helper()
	x, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// find updates the index and returns the snippets of the results, newest first.
func find(t *testing.T, x *Index, query string, o Options) []string {
	t.Helper()
	if err := x.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	q, err := Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	o.Snippets = true
	found, err := x.Find(t.Context(), q, o)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range found {
		all = append(all, strings.NewReplacer(string(HighlightStart), "<", string(HighlightEnd), ">").Replace(r.Snippet))
	}
	return all
}

func TestFindReturnsTheMatchingMessages(t *testing.T) {
	dir := t.TempDir()
	family, other := room(t, dir, "rooms/#family"), room(t, dir, "direct/ann,bob")
	say(t, family, "ann", "The blue boat is in the harbour")
	say(t, family, "Bob", "a boat, blue as the sea; don't sail")
	say(t, family, "ann", "\x01ACTION sails to Zürich\x01")
	say(t, other, "ann", "the boat is a secret")
	x := index(t, dir)
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"boat", []string{"the <boat> is a secret", "a <boat>, blue as the sea; don't sail", "The blue <boat> is in the harbour"}},
		{"BOAT blue", []string{"a <boat>, <blue> as the sea; don't sail", "The <blue> <boat> is in the harbour"}},
		{`"blue boat"`, []string{"The <blue boat> is in the harbour"}},
		{"boat -blue", []string{"the <boat> is a secret"}},
		{"sail*", []string{"<sails> to Zürich", "a boat, blue as the sea; don't <sail>"}},
		{"zurich", []string{"sails to <Zürich>"}},
		{"don't", []string{"a boat, blue as the sea; <don't> sail"}},
		{"boat from:bob", []string{"a <boat>, blue as the sea; don't sail"}},
		{"boat in:Bob,ann", []string{"the <boat> is a secret"}},
		{"from:BOB in:#Family", []string{"a boat, blue as the sea; don't sail"}},
		{"boat after:2026-11-22", nil},
		{"boat before:2026-11-21", nil},
		{"harbour after:2026-11-21 before:2026-11-22", []string{"The blue boat is in the <harbour>"}},
		{`boat" OR text:*) NEAR(`, nil},
	} {
		if got := find(t, x, c.query, Options{}); !slices.Equal(got, c.want) {
			t.Errorf("query %s: got %q, want %q", c.query, got, c.want)
		}
	}
	if got := find(t, x, "boat", Options{RoomPaths: []string{"direct/ann,bob"}}); len(got) != 1 || got[0] != "the <boat> is a secret" {
		t.Errorf("results for a caller that may read one room: got %q, want the one message of that room", got)
	}
	if got := find(t, x, "boat", Options{RoomPaths: []string{}}); len(got) != 0 {
		t.Errorf("results for a caller that may read no room: got %q, want none", got)
	}
	if got := find(t, x, "boat", Options{Limit: 2}); len(got) != 2 {
		t.Errorf("results with a limit of 2: got %q, want 2", got)
	}
}

// TestResultsAreOrderedByTime: the order does not depend on the order in which rooms were indexed
// or on how many messages share a time.
func TestResultsAreOrderedByTime(t *testing.T) {
	dir := t.TempDir()
	a, b := room(t, dir, "rooms/#a"), room(t, dir, "rooms/#b")
	for i := range 12 {
		l := []*log.Log{a, b, b}[i%3]
		if _, err := l.Append([]log.Entry{{Time: noon.Add(time.Duration(i/4) * time.Second), Body: fmt.Sprintf(":ann!u@h PRIVMSG #r :word %d", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	x := index(t, dir)
	if err := x.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := func(o Options, query string) (seconds []int) {
		q, err := Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		found, err := x.Find(t.Context(), q, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found {
			seconds = append(seconds, int(r.Time.Sub(noon)/time.Second))
		}
		return seconds
	}
	for _, query := range []string{"word", "from:ann", "word -nothing", "from:ann -nothing"} {
		if got := second(Options{}, query); !slices.Equal(got, []int{2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0}) {
			t.Errorf("%s: got seconds %v, want the newest first", query, got)
		}
		if got := second(Options{OldestFirst: true, Limit: 6}, query); !slices.Equal(got, []int{0, 0, 0, 0, 1, 1}) {
			t.Errorf("%s: got seconds %v, want the six oldest, oldest first", query, got)
		}
		if got := second(Options{}, query+" after:2026-11-21T12:00:01Z before:2026-11-21T12:00:02Z"); !slices.Equal(got, []int{1, 1, 1, 1}) {
			t.Errorf("%s between two times: got seconds %v, want those of second 1", query, got)
		}
	}
}

func TestSearchInAnEmptyChatFindsNothing(t *testing.T) {
	if got := find(t, index(t, t.TempDir()), "hello", Options{}); len(got) != 0 {
		t.Errorf("got %q, want no results", got)
	}
}

func TestInvalidQueriesAreRejected(t *testing.T) {
	for _, query := range []string{"", "  ", "-boat", "before:yesterday", "from:", "after:2026-13-01", strings.Repeat("x ", 33), "\xff", `"`} {
		if q, err := Parse(query); !errors.Is(err, ErrQuery) {
			t.Errorf("Parse(%q): got %+v and error %v, want ErrQuery", query, q, err)
		}
	}
}

// inFile reports whether a file of the index contains text.
func inFile(t *testing.T, dir, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "index", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("index files: got %q and error %v, want one or more", files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(text)) {
			return true
		}
	}
	return false
}

// TestRedactedMessagesLeaveTheIndex covers redactions with and without a REDACT line in the log.
func TestRedactedMessagesLeaveTheIndex(t *testing.T) {
	for _, marked := range []bool{true, false} {
		dir := t.TempDir()
		l := room(t, dir, "rooms/#family")
		say(t, l, "ann", "before")
		id := say(t, l, "ann", "unspeakable words")
		say(t, l, "ann", "behind")
		x := index(t, dir)
		if got := find(t, x, "unspeakable", Options{}); len(got) != 1 || !inFile(t, dir, "unspeakable") {
			t.Fatalf("before the redaction: got %q, want one result", got)
		}
		var offset int64
		if _, err := fmt.Sscanf(id[9:], "%d", &offset); err != nil {
			t.Fatal(err)
		}
		if err := l.Redact(offset); err != nil {
			t.Fatal(err)
		}
		q, _ := Parse("unspeakable")
		if got, err := x.Find(t.Context(), q, Options{}); err != nil || len(got) != 0 {
			t.Errorf("redacted but still indexed: got %v and error %v, want no results", got, err)
		}
		if marked {
			if _, err := l.Append([]log.Entry{{Time: noon.Add(sinceNoon), Body: ":ann!u@h REDACT #r " + id}}); err != nil {
				t.Fatal(err)
			}
		}
		if got := find(t, x, "unspeakable", Options{}); len(got) != 0 || inFile(t, dir, "unspeakable") {
			t.Errorf("after the redaction: got results %q, text in the index file %v; want neither", got, inFile(t, dir, "unspeakable"))
		}
		if got := find(t, x, "before", Options{}); len(got) != 1 {
			t.Errorf("another message: got %q, want one result", got)
		}
	}
}

func TestExpiredMessagesLeaveTheIndex(t *testing.T) {
	dir := t.TempDir()
	l := room(t, dir, "rooms/#family")
	for i := range 30 {
		say(t, l, "ann", fmt.Sprintf("number %d of all%d", i, i))
	}
	x := index(t, dir)
	if got := find(t, x, "number", Options{Limit: MaxLimit}); len(got) != 30 {
		t.Fatalf("before retention: got %d results, want 30", len(got))
	}
	if removed, err := l.Retain(time.Nanosecond, 0, noon.Add(sinceNoon+time.Hour)); err != nil || removed == 0 {
		t.Fatalf("Retain: got %d bytes removed and error %v, want some removed", removed, err)
	}
	rest, err := l.After(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if got := find(t, x, "number", Options{Limit: MaxLimit}); len(got) != len(rest) || inFile(t, dir, "all0") {
		t.Errorf("after retention: got %d results, want %d and no expired text in the file", len(got), len(rest))
	}
	if err := errors.Join(l.Close(), os.RemoveAll(filepath.Join(dir, "rooms/#family"))); err != nil {
		t.Fatal(err)
	}
	if got := find(t, x, "number", Options{}); len(got) != 0 || inFile(t, dir, "number") {
		t.Errorf("results from a deleted room: got %q, want none and no text in the file", got)
	}
}

// TestDeletedOrDamagedIndexIsRebuilt damages the index while it is open.
func TestDeletedOrDamagedIndexIsRebuilt(t *testing.T) {
	dir := t.TempDir()
	l := room(t, dir, "rooms/#family")
	say(t, l, "ann", "hello")
	x := index(t, dir)
	file := filepath.Join(dir, "index", "search.db")
	for i, damage := range []func() error{
		func() error { return nil },
		func() error { return os.RemoveAll(filepath.Dir(file)) },
		func() error {
			return errors.Join(os.Remove(file), os.WriteFile(file, bytes.Repeat([]byte("rubbish "), 2000), 0o600))
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if got := find(t, x, "hello", Options{}); len(got) != 1 {
			t.Errorf("damage %d: got %q, want one result", i, got)
		}
		if got := find(t, index(t, dir), "hello", Options{}); len(got) != 1 {
			t.Errorf("damage %d, opened again: got %q, want one result", i, got)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("index file: got %v and error %v, want mode 0600", info, err)
	}
}

// TestConcurrentUpdatesIndexEachMessageOnce: two indexes of one file follow a room while messages
// are appended.
func TestConcurrentUpdatesIndexEachMessageOnce(t *testing.T) {
	dir := t.TempDir()
	l := room(t, dir, "rooms/#family")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	x, y := index(t, dir), index(t, dir)
	for _, x := range []*Index{x, y} {
		go func() {
			x.Run(ctx, time.Millisecond, func(err error) { t.Error(err) })
			done <- struct{}{}
		}()
	}
	for i := range 200 {
		say(t, l, "ann", fmt.Sprintf("word%d", i))
	}
	q, _ := Parse("word*")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		found, err := y.Find(t.Context(), q, Options{Limit: MaxLimit})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) >= 200 || time.Now().After(deadline) {
			if len(found) != 200 {
				t.Errorf("got %d results, want 200", len(found))
			}
			break
		}
	}
	stop()
	<-done
	<-done
}

func FuzzParse(f *testing.F) {
	f.Add(`boat "blue boat" -engine sail* from:ann in:#family after:2026-11-01`)
	f.Add(`"a" OR NEAR(b) text:c ^d + e`)
	dir := f.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "rooms"), 0o700); err != nil {
		f.Fatal(err)
	}
	x, err := Open(context.Background(), dir)
	if err != nil {
		f.Fatal(err)
	}
	defer x.Close()
	f.Fuzz(func(t *testing.T, s string) {
		q, err := Parse(s)
		if err != nil {
			if !errors.Is(err, ErrQuery) {
				t.Fatal(err)
			}
			return
		}
		if _, err := x.Find(t.Context(), q, Options{}); err != nil {
			t.Fatalf("query %q: got error %v, want valid SQL", s, err)
		}
	})
}
