package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/chat/log"
)

var rooms = []string{"rooms/#one", "rooms/#two", "direct/ann,bob"}

// chat is a data directory with a bit of everything.
func chat(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, room := range rooms {
		say(t, filepath.Join(dir, room), 1<<10, 50)
	}
	for name, text := range map[string]string{"accounts": "ann - role=admin\n", "bans": "mallory\n", "invites": "", "secret": "00\n", "lock": "1\n",
		"accounts.lock": "", ".accounts.tmp": "x", "marks/ann": "abcdefgh - 0\n", "marks/.lock": "", "index/search.db": "x", "uploads/ab/cdef": "picture",
		"rooms/#one/state": ":weir CREATED #One 1\n", "rooms/#one/00000000000000000000.log.damaged": "x", "rooms/#one/.state-1": "x"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "rooms/#unmade"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func say(t *testing.T, room string, segment int64, n int) {
	t.Helper()
	l, err := log.Open(room, log.Options{Segment: segment})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range n {
		if _, err := l.Append([]log.Entry{{Time: time.Now(), Body: fmt.Sprintf(":ann!u@h PRIVMSG #r :%d %s", i, strings.Repeat("x", i))}}); err != nil {
			t.Fatal(err)
		}
	}
}

// contents is a log's lines joined.
func contents(t *testing.T, room string) []byte {
	t.Helper()
	l, err := log.Open(room, log.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := l.Stream(0)
	defer r.Close()
	var all []byte
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, line...)
	}
}

// TestACopyIsRestoredUnchanged: a copy of either kind holds what belongs into it, and what is
// restored from it holds the same.
func TestACopyIsRestoredUnchanged(t *testing.T) {
	dir := chat(t)
	for _, to := range []string{"copy", "copy.tar", "copy.tar.gz"} {
		place := t.TempDir()
		file, back := filepath.Join(place, to), filepath.Join(place, "back")
		made, err := Create(t.Context(), dir, file)
		if err != nil || made.Rooms != 3 || made.Messages != 150 || made.Bad != 0 {
			t.Fatalf("Create %s: got %+v, %v; want all rooms and messages", to, made, err)
		}
		got, err := Restore(t.Context(), file, back)
		if err != nil || got.Rooms != 3 || got.Messages != 150 || got.Files != made.Files-1 {
			t.Fatalf("Restore %s: got %+v, %v; want the same counts", to, got, err)
		}
		for _, room := range rooms {
			if !bytes.Equal(contents(t, filepath.Join(dir, room)), contents(t, filepath.Join(back, room))) {
				t.Errorf("%s: the room %s differs, want it unchanged", to, room)
			}
			goesOn(t, filepath.Join(back, room))
		}
		for _, name := range []string{"accounts", "bans", "invites", "secret", "marks/ann", "uploads/ab/cdef", "rooms/#one/state"} {
			if info, err := os.Stat(filepath.Join(back, name)); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s: %s: got %v, %v; want the file with its mode", to, name, info, err)
			}
		}
		for _, name := range []string{"lock", "accounts.lock", ".accounts.tmp", "marks/.lock", "index", "rooms/#one/00000000000000000000.log.damaged", "rooms/#one/.state-1", "rooms/#unmade"} {
			if _, err := os.Stat(filepath.Join(back, name)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s was copied, want it excluded", to, name)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(place, ".*")); len(left) > 0 {
			t.Errorf("%s: got the leftovers %v, want none", to, left)
		}
	}
}

// goesOn wants a copied room to open without anything to mend, and to take messages behind all it
// ever had.
func goesOn(t *testing.T, room string) {
	t.Helper()
	l, err := log.Open(room, log.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if r := l.Recovery(); r.Kept+r.Cut+r.Lost+r.Bad != 0 {
		t.Errorf("%s: got recovery %+v, want nothing to do", room, r)
	}
	end := l.Committed()
	b, err := l.Append([]log.Entry{{Time: time.Now(), Body: ":ann!u@h PRIVMSG #r :next"}})
	if err != nil || b.First != end {
		t.Errorf("%s: got the next line at %d, want %d (%v)", room, b.First, end, err)
	}
}

// TestOffsetsSurviveRetentionAndRestore: what retention removed is not in a copy, and no offset is
// used again there.
func TestOffsetsSurviveRetentionAndRestore(t *testing.T) {
	dir := chat(t)
	room := filepath.Join(dir, rooms[0])
	l, err := log.Open(room, log.Options{Segment: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if removed, err := l.Retain(time.Nanosecond, 0, time.Now().Add(time.Hour)); err != nil || removed == 0 {
		t.Fatalf("Retain: got %d bytes removed and error %v, want some removed", removed, err)
	}
	back := filepath.Join(t.TempDir(), "copy")
	if _, err := Create(t.Context(), dir, back); err != nil {
		t.Fatal(err)
	}
	c, err := log.Open(filepath.Join(back, rooms[0]), log.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := c.Append([]log.Entry{{Time: time.Now(), Body: ":ann!u@h PRIVMSG #r :next"}})
	if err != nil || b.First < l.Committed() {
		t.Errorf("got the copy's next offset %d, want %d of the room (%v)", b.First, l.Committed(), err)
	}
}

func TestDamageIsFound(t *testing.T) {
	dir := chat(t)
	for _, damage := range []func(copied string) error{
		func(c string) error { return os.Remove(filepath.Join(c, "accounts")) },
		func(c string) error { return os.Remove(filepath.Join(c, Sums)) },
		func(c string) error { return os.WriteFile(filepath.Join(c, "bans"), []byte("nobody\n"), 0o600) },
		func(c string) error { return os.WriteFile(filepath.Join(c, "more"), nil, 0o600) },
	} {
		place := t.TempDir()
		file, back := filepath.Join(place, "copy"), filepath.Join(place, "back")
		if _, err := Create(t.Context(), dir, file); err != nil {
			t.Fatal(err)
		}
		if err := damage(file); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(t.Context(), file, back); !errors.Is(err, ErrDamaged) {
			t.Errorf("Restore of a damaged copy: got %v, want ErrDamaged", err)
		}
		if left, _ := os.ReadDir(place); len(left) != 1 {
			t.Errorf("got the leftovers %v, want none", left)
		}
	}
}

func TestInvalidTargetsAreRejected(t *testing.T) {
	dir := chat(t)
	for _, to := range []string{dir, filepath.Join(dir, "copy"), filepath.Join(dir, "rooms", "copy.tar")} {
		if _, err := Create(t.Context(), dir, to); err == nil {
			t.Errorf("Create to %s: got nil, want an error", to)
		}
	}
	if _, err := Create(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "contains no chat") {
		t.Errorf("Create of an empty folder: got %v, want an error", err)
	}
	file := filepath.Join(t.TempDir(), "copy.tar")
	if _, err := Create(t.Context(), dir, file); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), file, dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("Create to an existing file: got %v, want an error", err)
	}
}

// writer appends to all rooms in turn until its standard input ends.
func writer(dir string) int {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	var logs []*log.Log
	for _, room := range rooms {
		l, err := log.Open(filepath.Join(dir, room), log.Options{Segment: 4 << 10})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		logs = append(logs, l)
	}
	for i := 0; ; i++ {
		var batch []log.Entry
		for range i % 7 {
			batch = append(batch, log.Entry{Time: time.Now(), Body: fmt.Sprintf(":bob!u@h PRIVMSG #r :%d %s", i, strings.Repeat("y", i%300))})
		}
		if _, err := logs[i%len(logs)].Append(batch); err != nil {
			fmt.Println(err)
			return 1
		}
		if i == 100 {
			fmt.Println("at work")
		}
	}
}

// TestCopiesDuringWritesArePrefixes: copies made while two processes write hold a prefix of each
// room, and open without repair.
func TestCopiesDuringWritesArePrefixes(t *testing.T) {
	dir, place := chat(t), t.TempDir()
	stop := []func(){startWriter(t, dir), startWriter(t, dir)}
	for i := range 6 {
		to := filepath.Join(place, fmt.Sprint(i, []string{"", ".tar"}[i%2]))
		if _, err := Create(t.Context(), dir, to); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range stop {
		s()
	}
	last := -1
	for i := range 6 {
		back := filepath.Join(place, fmt.Sprint(i))
		if i%2 == 1 {
			if _, err := Restore(t.Context(), back+".tar", back); err != nil {
				t.Fatal(err)
			}
		}
		for _, room := range rooms {
			had, all := contents(t, filepath.Join(back, room)), contents(t, filepath.Join(dir, room))
			if !bytes.HasPrefix(all, had) || len(had) == 0 {
				t.Errorf("copy %d of %s: got %d bytes that are no prefix of the room's %d, want a prefix", i, room, len(had), len(all))
			}
			if room == rooms[0] {
				if len(had) < last {
					t.Errorf("copy %d: got %d bytes of the first room, want at least the %d of the copy before", i, len(had), last)
				}
				last = len(had)
			}
			goesOn(t, filepath.Join(back, room))
		}
	}
}

// startWriter starts a process that writes, and returns when it does; the result ends it.
func startWriter(t *testing.T, dir string) func() {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerVariable+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("the writer process: got %v, want exit status 0", err)
			}
		}
	}
	t.Cleanup(end)
	b := make([]byte, 100)
	if n, _ := out.Read(b); string(b[:n]) != "at work\n" {
		t.Fatalf("the writer process printed %q, want \"at work\"", b[:n])
	}
	return end
}

func FuzzParseSums(f *testing.F) {
	f.Add([]byte(strings.Repeat("ab", 32) + "  rooms/#one/id\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		sums, err := parseSums(b)
		if err != nil {
			return
		}
		var again strings.Builder
		for name, sum := range sums {
			again.WriteString(sum + "  " + name + "\n")
		}
		if twice, err := parseSums([]byte(again.String())); err != nil || len(twice) != len(sums) {
			t.Fatalf("parseSums: %v became %v, %v; want the same", sums, twice, err)
		}
	})
}
