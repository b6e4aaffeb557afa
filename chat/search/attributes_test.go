package search

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseAttributesReadsEveryAttribute(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		in, from, in2, wants string
		after, before        time.Time
		limit                int
	}{
		{in: "text=fast;in=#chan;limit=2", in2: "#chan", wants: `"fast"`, limit: 2},
		{in: "from=jackie;in=#chan", from: "jackie", in2: "#chan"},
		{in: `TEXT=blue\sboat\:;x=y;`, wants: `"blue" AND "boat"`},
		{in: `text=boat\sfrom:ann\sin:#a;in=#b`, from: "ann", in2: "#b", wants: `"boat"`},
		{in: "after=2026-11-21T11:30:00.123Z;before=2026-11-21T11:30:00.123Z", after: at("2026-11-21T11:30:00.123Z"), before: at("2026-11-21T11:30:00.124Z")},
		{in: "before=2026-11-21", before: at("2026-11-21T00:00:00Z")},
		{in: `text=-engine;from=ann`, from: "ann"},
	} {
		q, limit, err := ParseAttributes(c.in)
		wants, _ := q.matchExpressions()
		if err != nil || q.From != c.from || q.In != c.in2 || wants != c.wants || !q.After.Equal(c.after) || !q.Before.Equal(c.before) || limit != c.limit {
			t.Errorf("ParseAttributes(%q): got %+v, limit %d, error %v; want %+v", c.in, q, limit, err, c)
		}
	}
	for in, key := range map[string]string{
		"": "", "limit=3": "", "text=-engine": "", "text=": "", "from=ann;limit=many": "limit", "limit=-1;text=a": "limit", "after=noon": "after", "before=": "before",
		"text=from:": "text", `text=` + strings.Repeat(`a\s`, 33): "text", "in=\xff": "", "text=" + strings.Repeat("a", 1024): "",
	} {
		_, _, err := ParseAttributes(in)
		var bad *AttributeError
		if !errors.As(err, &bad) || bad.Key != key || bad.Text == "" {
			t.Errorf("ParseAttributes(%q): got error %v, want an error about %q", in, err, key)
		}
	}
}

// FuzzParseAttributes: a query that is accepted can be searched, and every error is an
// AttributeError.
func FuzzParseAttributes(f *testing.F) {
	f.Add(`text=blue\sboat\:;in=#family;from=ann;after=2026-11-21T11:30:00.123Z;before=2026-11-22;limit=5`)
	f.Add(`text=\\\r\n"\s*;;=;limit=+1`)
	x, err := Open(f.Context(), f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	defer x.Close()
	f.Fuzz(func(t *testing.T, s string) {
		q, limit, err := ParseAttributes(s)
		if err != nil {
			var bad *AttributeError
			if !errors.As(err, &bad) || strings.ContainsAny(bad.Key, " \r\n") || strings.ContainsAny(bad.Text, "\r\n\x00") {
				t.Fatalf("ParseAttributes(%q): got error %q, want an *AttributeError on one line", s, err)
			}
			return
		}
		if _, err := x.Find(t.Context(), q, Options{Limit: limit, RoomPaths: []string{"rooms/#a"}, OldestFirst: true}); err != nil {
			t.Fatalf("query %q: got error %v, want valid SQL", s, err)
		}
	})
}
