package upload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a clock that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func open(t *testing.T, dir string, o Options) (*Store, *clock) {
	t.Helper()
	c := &clock{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	o.Now = c.now
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// share uploads a file.
func share(s *Store, account, name, text string) (Shared, error) {
	u, err := s.Begin(account, int64(len(text)))
	if err != nil {
		return Shared{}, err
	}
	if _, err := io.Copy(u, strings.NewReader(text)); err != nil {
		return Shared{}, errors.Join(err, u.Abort())
	}
	return u.Commit(name)
}

func mustShare(t *testing.T, s *Store, account, name, text string) Shared {
	t.Helper()
	shared, err := share(s, account, name, text)
	if err != nil {
		t.Fatal(err)
	}
	return shared
}

// read opens the file of a link and returns its content.
func read(t *testing.T, s *Store, hash, name string) (text string, c *Content) {
	t.Helper()
	c, err := s.Open(hash, name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), c
}

// left returns the files in a store that are neither content nor records.
func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "uploads"), func(path string, d os.DirEntry, err error) error {
		name := strings.TrimSuffix(d.Name(), infoSuffix)
		if err == nil && !d.IsDir() && !validHash(name) && name != ".lock" {
			names = append(names, d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestLinkOpensTheFileAlsoAfterARestart(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, Options{})
	shared := mustShare(t, s, "ann", "../harbour boat.txt", "a boat")
	sum := sha256.Sum256([]byte("a boat"))
	if shared.Hash != hex.EncodeToString(sum[:]) || shared.Name != "harbour boat.txt" || shared.Size != 6 {
		t.Errorf("uploaded file: got %+v, want the hash of the content, a clean name and 6 bytes", shared)
	}
	for range 2 {
		text, c := read(t, s, shared.Hash, shared.Name)
		if text != "a boat" || c.Type != "text/plain; charset=utf-8" || c.Disposition != `inline; filename="harbour boat.txt"` {
			t.Errorf("opened file: got %q, %+v; want the text, shown inline", text, c)
		}
		for _, no := range [][2]string{{shared.Hash, "invoice.exe"}, {strings.ToUpper(shared.Hash), shared.Name}, {shared.Hash[:63], shared.Name}, {"../" + shared.Hash[:61], shared.Name},
			{strings.Repeat("0", 64), shared.Name}, {shared.Hash + infoSuffix, shared.Name}, {"", ""}} {
			if _, err := s.Open(no[0], no[1]); !errors.Is(err, ErrNotFound) {
				t.Errorf("Open(%q): got %v, want ErrNotFound", no, err)
			}
		}
		s, _ = open(t, dir, Options{})
	}
	info, err := os.Stat(filepath.Join(dir, "uploads", shared.Hash[:2], shared.Hash))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode of the content: got %v and error %v, want 0600", info.Mode(), err)
	}
}

func TestSameContentIsStoredOnce(t *testing.T) {
	s, _ := open(t, t.TempDir(), Options{})
	one, two := mustShare(t, s, "ann", "a.txt", "the same"), mustShare(t, s, "bob", "b.txt", "the same")
	if one.Hash != two.Hash {
		t.Error("uploads of the same content: got two hashes, want one")
	}
	if n, total := s.Usage(); n != 1 || total != diskUsage(8) {
		t.Errorf("usage: got %d files with %d bytes, want one file", n, total)
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		if text, _ := read(t, s, one.Hash, name); text != "the same" {
			t.Errorf("content of %s: got %q, want the same", name, text)
		}
	}
}

func TestOnlyHarmlessTypesAreShownInline(t *testing.T) {
	s, _ := open(t, t.TempDir(), Options{})
	for name, c := range map[string]struct{ content, kind string }{
		"a.png":  {"\x89PNG\r\n\x1a\n....", "image/png"},
		"a.jpg":  {"\xff\xd8\xff\xe0....", "image/jpeg"},
		"b.png":  {"<!DOCTYPE html><script>alert(1)</script>", ""},
		"a.html": {"  <html><body>", ""},
		"a.svg":  {`<?xml version="1.0"?><svg onload="alert(1)"/>`, ""},
		// an SVG without an XML declaration is detected as text, so no script runs
		"b.svg": {`<svg onload="alert(1)"/>`, "text/plain; charset=utf-8"},
		"a.pdf": {"%PDF-1.7", ""},
		"a.exe": {"MZ\x00\x01\x02", ""},
		"a.txt": {"words", "text/plain; charset=utf-8"},
		"none":  {"", "text/plain; charset=utf-8"},
	} {
		_, got := read(t, s, mustShare(t, s, "ann", name, c.content).Hash, name)
		want, how := c.kind, "inline"
		if want == "" {
			want, how = "application/octet-stream", "attachment"
		}
		if got.Type != want || !strings.HasPrefix(got.Disposition, how+";") {
			t.Errorf("%s: got type %s and disposition %s, want %s and %s", name, got.Type, got.Disposition, want, how)
		}
	}
}

func TestUploadsBeyondALimitAreRefused(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, Options{MaxBytes: 100, DayBytes: 250, DayFiles: 4})
	big := strings.Repeat("x", 100)
	if _, err := share(s, "ann", "a", big+"x"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("101 bytes with a limit of 100: got %v, want ErrTooLarge", err)
	}
	u, err := s.Begin("ann", -1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(u, strings.NewReader(big+"x")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("101 bytes of unknown length with a limit of 100: got %v, want ErrTooLarge", err)
	}
	if err := u.Abort(); err != nil {
		t.Fatal(err)
	}
	mustShare(t, s, "ann", "a", big)
	mustShare(t, s, "ann", "b", big)
	if _, err := share(s, "ann", "c", big); !errors.Is(err, ErrQuota) {
		t.Errorf("300 bytes with a limit of 250 a day: got %v, want ErrQuota", err)
	}
	mustShare(t, s, "ann", "c", "more")
	if _, err := share(s, "ann", "d", ""); !errors.Is(err, ErrQuota) {
		t.Errorf("five files with a limit of 4 a day: got %v, want ErrQuota", err)
	}
	mustShare(t, s, "bob", "d", big)
	s, now := open(t, dir, Options{MaxBytes: 100, DayBytes: 250})
	if _, err := share(s, "ann", "e", big); !errors.Is(err, ErrQuota) {
		t.Errorf("300 bytes with a limit of 250 a day, after a restart: got %v, want ErrQuota", err)
	}
	now.at = now.at.Add(day)
	mustShare(t, s, "ann", "e", big)
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("files left after the uploads: got %q, want none", names)
	}
}

func TestFullStoreRefusesUploadsAndRemovesNothing(t *testing.T) {
	s, _ := open(t, t.TempDir(), Options{MaxTotal: 3 * diskUsage(1)})
	first := mustShare(t, s, "ann", "a", "1")
	mustShare(t, s, "ann", "b", "2")
	mustShare(t, s, "ann", "c", "3")
	if _, err := share(s, "bob", "d", "4"); !errors.Is(err, ErrFull) {
		t.Errorf("a fourth file with room for three: got %v, want ErrFull", err)
	}
	if text, _ := read(t, s, first.Hash, "a"); text != "1" {
		t.Errorf("content of the first file: got %q, want 1", text)
	}
}

func TestUploadsInProgressAreLimited(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, Options{MaxBytes: 100, DayBytes: 150})
	var all []*Upload
	for range maxConcurrentPerAccount {
		u, err := s.Begin("ann", -1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	if _, err := s.Begin("ann", -1); !errors.Is(err, ErrBusy) {
		t.Errorf("one upload more than an account may have in progress: got %v, want ErrBusy", err)
	}
	text := bytes.Repeat([]byte("x"), 100)
	if _, err := all[0].Write(text); err != nil {
		t.Errorf("Write to the first upload: got %v, want nil", err)
	}
	if _, err := all[1].Write(text); !errors.Is(err, ErrQuota) {
		t.Errorf("two uploads of 200 bytes together, limit 150: got %v, want ErrQuota", err)
	}
	open(t, dir, Options{}) // a second server opens the store while the first one is stopping
	if names := left(t, dir); len(names) != len(all) {
		t.Errorf("partial uploads: got %q, want the %d that are in progress", names, len(all))
	}
	all[0].file.Close() // as after a kill
	after, _ := open(t, dir, Options{})
	if names := left(t, dir); len(names) != len(all)-1 {
		t.Errorf("partial uploads: got %q, want those that are in progress", names)
	}
	shared, err := all[2].Commit("a")
	if err != nil {
		t.Fatal(err)
	}
	read(t, after, shared.Hash, "a")
	for _, u := range []*Upload{all[0], all[1], all[3]} {
		_ = u.Abort()
	}
	if n, total := s.Usage(); n != 1 || total != diskUsage(0) || s.inProgress != 0 {
		t.Errorf("usage: got %d files with %d bytes and %d in progress, want one empty file", n, total, s.inProgress)
	}
}

func TestExpiredFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	s, now := open(t, dir, Options{MaxAge: 10 * day})
	old, again := mustShare(t, s, "ann", "old", "old"), mustShare(t, s, "ann", "again", "again")
	now.at = now.at.Add(6 * day)
	mustShare(t, s, "bob", "again", "again")
	now.at = now.at.Add(6 * day)
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(old.Hash, "old"); !errors.Is(err, ErrNotFound) {
		t.Errorf("expired file: got %v, want ErrNotFound", err)
	}
	read(t, s, again.Hash, "again")
	if n, total := s.Usage(); n != 1 || total != diskUsage(5) {
		t.Errorf("usage: got %d files with %d bytes, want the one file of 5 bytes", n, total)
	}
	mustShare(t, s, "ann", "old", "old")
}

func TestRemovedContentIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, now := open(t, dir, Options{})
	bad, good := mustShare(t, s, "ann", "bad", "bad"), mustShare(t, s, "ann", "good", "good")
	for _, wrong := range []string{"", bad.Hash[:7], "0123456789", "../../../../etc"} {
		if _, err := Remove(dir, wrong, now.at); err == nil {
			t.Errorf("Remove(%q) succeeded, want an error", wrong)
		}
	}
	f, err := Remove(dir, "https://chat.example.org/file/"+bad.Hash+"/bad", now.at)
	if err != nil || f.Hash != bad.Hash {
		t.Fatalf("Remove: got %+v and error %v, want the file of the link", f, err)
	}
	if _, err := s.Open(bad.Hash, "bad"); !errors.Is(err, ErrNotFound) {
		t.Errorf("opening the removed file: got %v, want ErrNotFound", err)
	}
	for range 2 {
		if _, err := share(s, "bob", "bad", "bad"); !errors.Is(err, ErrRemoved) {
			t.Errorf("uploading the removed content: got %v, want ErrRemoved", err)
		}
		if n, total := s.Usage(); n != 1 || total != diskUsage(4) {
			t.Errorf("usage: got %d files with %d bytes, want the one other file", n, total)
		}
		s, _ = open(t, dir, Options{})
	}
	all, err := List(dir)
	if err != nil || len(all) != 2 || all[0].Hash != good.Hash || all[0].Removed != nil || all[1].Hash != bad.Hash || !all[1].Removed.Equal(now.at) || all[1].Sharings[0].Account != "ann" {
		t.Errorf("List: got %+v and error %v, want the good file, then the removed one", all, err)
	}
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("files left after the refused uploads: got %q, want none", names)
	}
}

// TestInterruptedRemovalIsCompleted: a removal that stopped after the record was written.
func TestInterruptedRemovalIsCompleted(t *testing.T) {
	dir := t.TempDir()
	s, now := open(t, dir, Options{})
	shared := mustShare(t, s, "ann", "bad", "bad")
	r, err := readRecord(s.root, shared.Hash)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := open(t, t.TempDir(), Options{}) // a server that has not loaded the file
	other.root = s.root
	r.removedAt = now.at
	if err := writeRecord(s.root, shared.Hash, r); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open(shared.Hash, "bad"); !errors.Is(err, ErrNotFound) {
		t.Errorf("opening the removed file: got %v, want ErrNotFound", err)
	}
	s, _ = open(t, dir, Options{})
	if _, err := s.Open(shared.Hash, "bad"); !errors.Is(err, ErrNotFound) {
		t.Errorf("opening the removed file: got %v, want ErrNotFound", err)
	}
	if _, err := os.Stat(filepath.Join(s.root, shared.Hash[:2], shared.Hash)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("content of the removed file after a restart: got %v, want os.ErrNotExist", err)
	}
}

func TestStartRemovesPartialRecordsOfAKilledServer(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, Options{})
	shared := mustShare(t, s, "ann", "a.txt", "text")
	folder, path := contentPath(s.root, shared.Hash)
	for _, name := range []string{filepath.Join(folder, ".info-123"), filepath.Join(folder, "."+filepath.Base(path)+".info.tmp")} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, _ = open(t, dir, Options{})
	if got, err := os.ReadDir(folder); err != nil || len(got) != 2 {
		t.Errorf("folder after a restart: got %v (error %v), want the content and its record", got, err)
	}
	if text, _ := read(t, s, shared.Hash, "a.txt"); text != "text" {
		t.Errorf("content after a restart: got %q, want text", text)
	}
}

func TestConcurrentUploadsOfTheSameContent(t *testing.T) {
	s, _ := open(t, t.TempDir(), Options{})
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for range 4 {
				if _, err := share(s, string(rune('a'+i)), "x", "the same"); err != nil {
					t.Errorf("concurrent upload of the same content: got %v, want nil", err)
				}
			}
		})
	}
	group.Wait()
	if n, total := s.Usage(); n != 1 || total != diskUsage(8) || s.inProgress != 0 {
		t.Errorf("usage: got %d files with %d bytes and %d in progress, want one file of 8 bytes", n, total, s.inProgress)
	}
}

func TestListWithoutFilesIsEmpty(t *testing.T) {
	if all, err := List(t.TempDir()); err != nil || len(all) != 0 {
		t.Errorf("List: got %v and error %v, want an empty list", all, err)
	}
}

// FuzzRecord: a record that is encoded and parsed again is unchanged.
func FuzzRecord(f *testing.F) {
	f.Add("removed 2026-11-21T12:00:00Z\n2026-11-21T12:00:00Z ann boat%20trip.jpg\nrubbish\n2026-11-21T12:00:00+01:00 bob %ff\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := parseRecord([]byte(text))
		again := parseRecord(r.encode())
		if len(again.sharings) != len(r.sharings) || !again.removedAt.Equal(r.removedAt) {
			t.Fatalf("parsing %q: got %+v, encoded and parsed again %+v; want the same", text, r, again)
		}
		for i, s := range r.sharings {
			if s != again.sharings[i] {
				t.Fatalf("parsing %q: got %+v, encoded and parsed again %+v; want the same", text, s, again.sharings[i])
			}
		}
	})
}
