package log

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123e6, time.UTC)

func encode(t testing.TB, e Entry, offset int64) Line {
	t.Helper()
	x := encoder{id: "abcdefgh"}
	b, _, err := x.append(nil, &e, offset, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, ok := parseLine(b)
	if !ok {
		t.Fatalf("parseLine(%q): got invalid, want valid for what the encoder made", b)
	}
	return l
}

func TestALineHasTheEntrysPartsAndItsOffset(t *testing.T) {
	l := encode(t, Entry{noon, `account=ann;+draft/reply=x\:y`, ":ann!u@h PRIVMSG #room :grüß dich"}, 4711)
	if want := "time=2026-11-21T12:00:00.123Z;msgid=abcdefgh-4711;account=ann;+draft/reply=x\\:y :ann!u@h PRIVMSG #room :grüß dich\r\n"; string(l.Tagged()) != want {
		t.Errorf("Tagged: got %q, want %q", l.Tagged(), want)
	}
	if want := ":ann!u@h PRIVMSG #room :grüß dich\r\n"; string(l.Plain()) != want {
		t.Errorf("Plain: got %q, want %q", l.Plain(), want)
	}
	if l.Offset() != 4711 || l.MsgID() != "abcdefgh-4711" || !l.Time().Equal(noon) {
		t.Errorf("got offset %d, msgid %s, time %v; want 4711, abcdefgh-4711, %v", l.Offset(), l.MsgID(), l.Time(), noon)
	}
	for name, want := range map[string]string{"account": "ann", "+draft/reply": `x\:y`} {
		if v, ok := l.Tag(name); !ok || v != want {
			t.Errorf("Tag(%s): got %q, %v; want %q, true", name, v, ok, want)
		}
	}
	if _, ok := l.Tag("accoun"); ok {
		t.Error("Tag(accoun): got a value, want none")
	}
}

func TestEveryChangedBitIsFound(t *testing.T) {
	l := encode(t, Entry{noon, "", ":ann!u@h PRIVMSG #room :hello"}, 0)
	for i := range l {
		for bit := range 8 {
			b := bytes.Clone(l)
			b[i] ^= 1 << bit
			if _, ok := parseLine(b); ok {
				t.Errorf("with bit %d of byte %d flipped: got %q as valid, want it rejected", bit, i, b)
			}
		}
	}
}

func TestInvalidEntriesAreRejected(t *testing.T) {
	for _, c := range []struct {
		e    Entry
		want error
	}{
		{Entry{noon, "", "PRIVMSG #r :no source"}, ErrInvalid},
		{Entry{noon, "", ""}, ErrInvalid},
		{Entry{noon, "", ":a PRIVMSG #r :two\nlines"}, ErrInvalid},
		{Entry{noon, "", ":a PRIVMSG #r :two\rlines"}, ErrInvalid},
		{Entry{noon, "", ":a PRIVMSG #r :a\x00b"}, ErrInvalid},
		{Entry{noon, "a b", ":a PRIVMSG #r :x"}, ErrInvalid},
		{Entry{noon, ";a", ":a PRIVMSG #r :x"}, ErrInvalid},
		{Entry{noon, "a;", ":a PRIVMSG #r :x"}, ErrInvalid},
		{Entry{noon, "a\n", ":a PRIVMSG #r :x"}, ErrInvalid},
		{Entry{time.Time{}, "", ":a PRIVMSG #r :x"}, ErrInvalid},
		{Entry{noon, "", ":a PRIVMSG #r :" + strings.Repeat("x", MaxLine-80)}, ErrTooLong},
	} {
		x := encoder{id: "abcdefgh"}
		if b, _, err := x.append([]byte("kept"), &c.e, 0, 0); !errors.Is(err, c.want) || string(b) != "kept" {
			t.Errorf("encoding %.40q: got error %v and %.40q, want %v and the buffer unchanged", c.e.Body, err, b, c.want)
		}
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	x := encoder{id: "abcdefgh"}
	e := Entry{noon, "", ":ann!u@h PRIVMSG #room :x"}
	later := noon.Add(time.Hour)
	b, milli, err := x.append(nil, &e, 0, later.UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	if got := Line(b).Time(); !got.Equal(later) || milli != later.UnixMilli() {
		t.Errorf("clock an hour behind the line before: got time %v and %d ms, want %v, the time of the line before", got, milli, later)
	}
}

func TestRedactedKeepsLengthTimeAndPlace(t *testing.T) {
	for _, e := range []Entry{
		{noon, "account=ann", ":ann!u@h PRIVMSG #room :a secret that is long enough"},
		{noon, "account=ann;+draft/reply=secret", ":ann!u@h PRIVMSG #room :secret"},
		{noon, "+draft/react=secret", ":ann!u@h TAGMSG #room"},
		{noon, "", ":ann!u@h TOPIC #room :secret"},
		{noon, "", ":a PRIVMSG b :secret"},
		{noon, "", ":a PRIVMSG b :"},
		{noon, "", ":a TAGMSG b"},
		{noon, "", ":a X"},
	} {
		l := encode(t, e, 99)
		r, ok := redacted(l)
		if !ok {
			t.Errorf("redacted(%q): got false, want true", l)
			continue
		}
		if _, whole := parseLine(r); !whole || len(r) != len(l) || r.MsgID() != l.MsgID() || !r.Time().Equal(l.Time()) || !r.Redacted() || l.Redacted() {
			t.Errorf("redacted(%q): got %q, want a valid, redacted line of the same length, msgid and time", l, r)
		}
		if strings.Contains(string(r), "secret") {
			t.Errorf("%q contains the secret, want it removed", r)
		}
	}
}

// FuzzLine wants that no accessor panics on what passes, and that what was taken apart and put
// together again is the same line.
func FuzzLine(f *testing.F) {
	for _, e := range []Entry{
		{noon, "account=ann;+draft/reply=x", ":ann!u@h PRIVMSG #room :hello"},
		{noon, "", ":a TAGMSG b"},
	} {
		f.Add([]byte(encode(f, e, 1)))
	}
	// a source without a nick, on a line too short to keep the source whole
	f.Add([]byte("0000000000000000000time=0000-01-01T00:00:00.000Z;msgid=22222222-0;00000000 :!0000 0\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, ok := parseLine(b)
		// most of what a fuzzer makes has a wrong sum: put the right one in
		if !ok && len(b) >= minLine {
			b = bytes.Clone(b)
			copy(b, sumMark)
			b[taggedAt-1] = ';'
			writeSum(b)
			l, ok = parseLine(b)
		}
		if !ok {
			return
		}
		_, _ = l.Tag("account")
		_, at := l.offset()
		tags, body, _ := strings.Cut(string(l[at:len(l)-2]), " ")
		again, _, err := (&encoder{id: string(l[msgidAt : msgidAt+idSize])}).append(nil, &Entry{l.Time(), strings.TrimPrefix(tags, ";"), body}, l.Offset(), 0)
		if err == nil && len(again) == len(l) && !bytes.Equal(again, l) {
			t.Errorf("encoding the parts of %q again: got %q, want the same bytes", l, again)
		}
		if r, ok := redacted(l); ok {
			if _, whole := parseLine(r); !whole || len(r) != len(l) {
				t.Errorf("redacted(%q): got %q, want a valid line of the same length", l, r)
			}
		}
	})
}
