package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/chat/data"
	"weir/chat/log"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fill appends messages to a room, a second apart from noon.
func fill(t interface{ Fatal(...any) }, dir, room string, entries ...log.Entry) {
	named, err := data.Named(room)
	if err != nil {
		t.Fatal(err)
	}
	l, err := log.Open(filepath.Join(dir, named.Path), log.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range entries {
		if entries[i].Time.IsZero() {
			entries[i].Time = noon.Add(time.Duration(i) * time.Second)
		}
	}
	if _, err := l.Append(entries); err != nil {
		t.Fatal(err)
	}
	if !named.Direct {
		if err := nameRoom(filepath.Join(dir, named.Path), room, noon); err != nil {
			t.Fatal(err)
		}
	}
}

func exported(t interface{ Fatal(...any) }, dir string, o Options) string {
	var b bytes.Buffer
	if _, err := Export(context.Background(), &b, dir, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func said(text string) log.Entry {
	return log.Entry{Tags: "account=ann", Body: ":ann!u@h PRIVMSG #Family :" + text}
}

func TestTextExportShowsEveryMessage(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, "#Family", said("hello"), said("\x01ACTION waves\x01"), log.Entry{Body: ":bob!u@h NOTICE #Family :note\x1b[31m"},
		log.Entry{Body: ":bob!u@h TOPIC #Family :plans"}, log.Entry{Tags: "+draft/react=x", Body: ":bob!u@h TAGMSG #Family"}, said("secret"))
	l, _ := log.Open(filepath.Join(dir, "rooms/#family"), log.Options{})
	defer l.Close()
	last, _ := l.Latest(1, l.Committed())
	if err := l.Redact(last[0].Offset()); err != nil {
		t.Fatal(err)
	}
	fill(t, dir, "bob,ann", log.Entry{Body: ":bob!u@h PRIVMSG ann :psst"})
	want := `== #Family ==
2026-11-21 12:00:00 <ann> hello
2026-11-21 12:00:01 * ann waves
2026-11-21 12:00:02 -bob- note[31m
2026-11-21 12:00:03 *** bob set the topic: plans
2026-11-21 12:00:05 <ann> [redacted]

== ann,bob ==
2026-11-21 12:00:00 <bob> psst
`
	if got := exported(t, dir, Options{Format: Text}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := exported(t, dir, Options{Format: Text, Room: "#family", Since: noon.Add(4 * time.Second)}); strings.Count(got, "\n") != 2 {
		t.Errorf("export of #family since second 4: got\n%s\nwant two lines, its name and one message", got)
	}
	if _, err := Export(t.Context(), &bytes.Buffer{}, dir, Options{Room: "#other"}); err == nil || !strings.Contains(err.Error(), "#Family ann,bob") {
		t.Errorf("export of an unknown room: got %v, want an error that lists the rooms", err)
	}
}

// anyText has bytes that JSON, UTF-8 and IRC have trouble with.
func anyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		b := rapid.SliceOfN(rapid.OneOf(rapid.ByteRange(1, 255), rapid.SampledFrom([]byte("\"\\<>&: ;=\x01\x7f\xff"))), 0, 40).Draw(t, "text")
		return strings.NewReplacer("\r", "\u2028", "\n", "\u00e9").Replace(string(b))
	})
}

// TestExportAndImportKeepEveryByte imports an export elsewhere and exports it there: the bytes are
// the same, and a second import adds nothing.
// A server creates a room's folder before its log, and a kill may leave it so.
func TestARoomThatIsBeingCreatedDoesNotStopAnExport(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, "#Family", said("here"))
	half := filepath.Join(dir, "rooms", "#half")
	if err := os.Mkdir(half, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lock", "committed"} {
		if err := os.WriteFile(filepath.Join(half, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := exported(t, dir, Options{}); strings.Count(got, "\n") != 1 {
		t.Errorf("got %q, want the one message of the other room", got)
	}
	lost := []byte("0123456701234567") // COMMITTED and END
	if err := os.WriteFile(filepath.Join(half, "committed"), lost, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Export(context.Background(), new(bytes.Buffer), dir, Options{}); err == nil {
		t.Error("with messages acknowledged in a room without a log: got no error")
	}
}

func TestExportAndImportKeepEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := tempDir(t), tempDir(t)
		defer os.RemoveAll(from)
		defer os.RemoveAll(to)
		total := int64(0)
		for _, room := range []string{"#Family", "#x/Y", "ann,bob"}[:rapid.IntRange(1, 3).Draw(t, "rooms")] {
			var entries []log.Entry
			for range rapid.IntRange(0, 8).Draw(t, "messages") {
				e := said(anyText().Draw(t, "text"))
				e.Tags = rapid.SampledFrom([]string{"", "account=ann", "+a=b;;+c", "+x=\xff"}).Draw(t, "tags")
				entries = append(entries, e)
			}
			fill(t, from, room, entries...)
			total += int64(len(entries))
		}
		first := exported(t, from, Options{})
		half := strings.Join(strings.SplitAfter(first, "\n")[:rapid.IntRange(0, int(total)).Draw(t, "before the interruption")], "")
		for _, text := range []string{half, first, first} {
			r, err := Import(t.Context(), "f", strings.NewReader(text), to, false)
			if err != nil || r.Messages+r.Known != int64(strings.Count(text, "\n")) {
				t.Fatalf("Import: got %+v and error %v, want %d messages, new or known", r, err, strings.Count(text, "\n"))
			}
		}
		if total > 0 {
			if second := exported(t, to, Options{}); second != first {
				t.Fatalf("exported after the import: got\n%s\nwant the imported text:\n%s", second, first)
			}
		}
		if r, err := Import(t.Context(), "f", strings.NewReader(first), from, false); err != nil || r.Messages != 0 {
			t.Fatalf("Import into the exported chat: got %+v and error %v, want no new message", r, err)
		}
	})
}

func tempDir(t *rapid.T) string {
	dir, err := os.MkdirTemp("", "weir-export-*")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func line(id int, at time.Time, text string) string {
	return fmt.Sprintf(`{"room":"#Family","msgid":"abcdefgh-%d","time":"%s","line":":ann!u@h PRIVMSG #Family :%s"}`+"\n", id, at.Format(timeForm), text)
}

func TestInvalidLinesAreRejectedWithTheirNumber(t *testing.T) {
	good := line(0, noon, "hello")
	for _, c := range []struct{ bad, why string }{
		{"\n", "EOF"},
		{"[]\n", "cannot unmarshal"},
		{strings.TrimSuffix(line(1, noon, "x"), "\n") + "{}\n", "followed by other bytes"},
		{`{"room":"#f","text":"hi"}`, "unknown field"},
		{strings.Replace(line(1, noon, "x"), "#Family", "family", 1), "not a room name"},
		{strings.Replace(line(1, noon, "x"), "#Family", "..,.", 1), "not a room name"},
		{strings.Replace(line(1, noon, "x"), "12:00:00.000Z", "12:00:00", 1), "time"},
		{strings.Replace(line(1, noon, "x"), "abcdefgh", "ABCDEFGH", 1), "msgid"},
		{strings.Replace(line(1, noon, "x"), ":ann", "ann", 1), "start with ':'"},
		{line(1, noon, `x\r\ny`), "CR, LF"},
		{line(1, noon, "\xff"), "UTF-8"},
		{line(1, noon, strings.Repeat("x", log.MaxLine)), "longer than"},
		{line(1, noon, strings.Repeat("x", maxLine)), "longer than"},
		{line(1, noon.Add(-time.Second), "x"), "earlier than the message before"},
		{strings.Replace(line(1, noon, "x"), `"line"`, `"tags":"a b","line"`, 1), "tags"},
		{strings.Replace(line(1, noon, "x"), `"line"`, `"tags":"time=1","line"`, 1), "reserved for the log"},
	} {
		dir := t.TempDir()
		_, err := Import(t.Context(), "file", strings.NewReader(good+c.bad), dir, false)
		if err == nil || !strings.HasPrefix(err.Error(), "file:2: ") || !strings.Contains(err.Error(), c.why) {
			t.Errorf("Import with the second line %.80q: got %v, want an error at file:2 with %q", c.bad, err, c.why)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("rejected import of %.80q: got the files %v, want none created", c.bad, left)
		}
	}
}

func TestMessagesOlderThanTheRoomNeedLate(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, "#family", said("new"))
	old := line(7, noon.Add(-time.Hour), "old")
	if _, err := Import(t.Context(), "file", strings.NewReader(old), dir, false); err == nil || !strings.Contains(err.Error(), "file:1: #Family has messages up to 2026-11-21T12:00:00.000Z") {
		t.Errorf("Import of a message older than the room's last, without late: got %v, want an error with the line and the room's last time", err)
	}
	for want := range int64(2) {
		r, err := Import(t.Context(), "file", strings.NewReader(old), dir, true)
		if err != nil || r.Late != 1-want || r.Known != want {
			t.Errorf("Import with late, time %d: got %+v and error %v, want it imported at first and known then", want+1, r, err)
		}
	}
	if got := exported(t, dir, Options{}); !strings.Contains(got, "weir/sent=2026-11-21T11:00:00.000Z") || strings.Count(got, noon.Format(timeForm)) != 2 {
		t.Errorf("late message exported: got\n%s\nwant its own time in weir/sent and the last message's time", got)
	}
}

// TestARedactedMessageIsNotImportedAgain imports a file, redacts one of its messages and imports
// the file again.
func TestARedactedMessageIsNotImportedAgain(t *testing.T) {
	dir := t.TempDir()
	file := line(0, noon, "one") + line(90, noon.Add(time.Second), "the secret") + line(190, noon.Add(2*time.Second), "three")
	if _, err := Import(t.Context(), "file", strings.NewReader(file), dir, false); err != nil {
		t.Fatal(err)
	}
	l, err := log.Open(filepath.Join(dir, "rooms/#family"), log.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lines, err := l.After(1, 1)
	if err == nil {
		err = l.Redact(lines[0].Offset())
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Import(t.Context(), "file", strings.NewReader(file), dir, false); err != nil || r.Known != 3 || r.Messages != 0 {
		t.Errorf("second Import, one message redacted: got %+v and error %v, want all 3 known", r, err)
	}
	if got := exported(t, dir, Options{}); strings.Contains(got, "secret") || !strings.Contains(got, `"weir/redacted"`) {
		t.Errorf("export after the second Import: got\n%s\nwant the message still redacted", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line(0, noon, "hello")))
	f.Add([]byte(`{"room":"ann,bob","msgid":"abcdefgh-1","time":"2026-11-21T12:00:00.000Z","raw":"YT1iIDphIEIg/w=="}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, at, _, err := parse(bytes.TrimSuffix(b, []byte("\n")))
		if err != nil {
			if !errors.Is(err, ErrMessage) {
				t.Fatalf("parse(%q): got error %v, want ErrMessage", b, err)
			}
			return
		}
		var again bytes.Buffer
		if err := m.appendJSON(&again); err != nil {
			t.Fatal(err)
		}
		n, at2, _, err := parse(bytes.TrimSuffix(again.Bytes(), []byte("\n")))
		if err != nil || n.Line != m.Line || n.Tags != m.Tags || n.MsgID != m.MsgID || !at2.Equal(at) {
			t.Fatalf("%+v, written and parsed: got %+v and error %v, want the same message", m, n, err)
		}
		dir := t.TempDir()
		l, err := log.Open(dir, log.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		stored, err := l.Append([]log.Entry{{Time: at, Tags: m.importTags(), Body: m.Line}})
		if err != nil {
			t.Fatalf("Append of the parsed message %+v: got %v, want nil", m, err)
		}
		if back := toMessage(m.Room, stored.Lines[0]); back.MsgID != m.MsgID || back.Line != m.Line {
			t.Fatalf("%+v, stored and read: got %+v, want the same line and msgid", m, back)
		}
	})
}
