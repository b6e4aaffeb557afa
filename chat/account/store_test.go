package account

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A running Store sees what others do to its files: by renaming, as a Store does, and by an editor
// in place.
func TestChangesOfOtherProcessesTakeEffect(t *testing.T) {
	dir := t.TempDir()
	server, command := open(t, dir, Options{}), open(t, dir, Options{})
	grown := func(what string) {
		t.Helper()
		before := server.generation
		if after := server.Generation(); after <= before {
			t.Errorf("%s: got generation %d, then %d; want a higher one", what, before, after)
		}
		if again := server.Generation(); again != server.generation || again <= before {
			t.Errorf("%s: got generation %d at the next call, want %d, as nothing changed", what, again, server.generation)
		}
	}
	add(t, command, "ann", "correct horse")
	grown("a new account")
	if login, err := server.Plain("ann", "correct horse"); err != nil || login.Role != Member {
		t.Errorf("login to an account that another Store added: got %+v and error %v, want the role member", login, err)
	}
	// Two changes without a look between them may bring back the former inode and size.
	for _, role := range []Role{"admin", "member"} {
		if err := command.SetRole("ann", role); err != nil {
			t.Fatal(err)
		}
	}
	grown("two changes")
	if _, err := command.Ban(Ban{Pattern: "ann", Until: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	grown("a ban")
	if _, banned := server.Banned(Client{Account: "ann"}, time.Now()); !banned {
		t.Error("Banned for a ban that another Store added: got false, want true")
	}
	write(t, dir, "accounts", read(t, dir, "accounts")+"bob -\n")
	grown("an editor")
	if server.Lookup("BOB") == nil || len(server.Accounts()) != 2 {
		t.Errorf("got the accounts %v, want ann, added by the other Store, and bob, added by an editor", server.Accounts())
	}
	if err := os.Remove(filepath.Join(dir, "accounts")); err != nil {
		t.Fatal(err)
	}
	grown("no file any more")
	if len(server.Accounts()) != 0 {
		t.Errorf("after the file was removed: got the accounts %v, want none", server.Accounts())
	}
}

// TestAnUnreadableFileLeavesTheFormerContentInEffect also checks that the error is reported once.
func TestAnUnreadableFileLeavesTheFormerContentInEffect(t *testing.T) {
	dir := t.TempDir()
	var reports []string
	s := open(t, dir, Options{Report: func(err error) { reports = append(reports, err.Error()) }})
	add(t, s, "ann", "correct horse")
	path := filepath.Join(dir, "accounts")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if s.Lookup("ann") == nil {
			t.Error("Lookup(ann) with an unreadable file: got nil, want the account")
		}
	}
	if len(reports) != 1 || !strings.Contains(reports[0], "stays in effect") {
		t.Errorf("got the reports %q, want one that the former content stays in effect", reports)
	}
	if _, err := s.Add("bob", "correct horse", Member, false); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("Add with an unreadable file: got %v, want an error that nothing was changed", err)
	}
}

func TestOpenRejectsInvalidOptionsAndFiles(t *testing.T) {
	for what, c := range map[string]struct {
		o    Options
		file string // name and contents
		want string
	}{
		"few iterations":   {Options{Iterations: 4095}, "", "Options.Iterations is 4095"},
		"many iterations":  {Options{Iterations: 1_000_001}, "", "Options.Iterations is 1000001"},
		"no such policy":   {Options{Registration: "maybe"}, "", "Options.Registration is \"maybe\""},
		"a damaged secret": {Options{}, "secret abcd\n", "secret is damaged"},
	} {
		dir := t.TempDir()
		if name, text, ok := strings.Cut(c.file, " "); ok {
			write(t, dir, name, text)
		}
		if s, err := Open(dir, c.o); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "abcd") {
			t.Errorf("Open with %s: got %v and error %v, want an error with %q and without the secret", what, s, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open without a data directory: got %v, want fs.ErrNotExist", err)
	}
}

// TestInvitesExpireAndCanBeRevoked also checks that the list and the file do not contain the codes.
func TestInvitesExpireAndCanBeRevoked(t *testing.T) {
	dir, clock := t.TempDir(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := open(t, dir, Options{Now: func() time.Time { return clock }})
	first, one, err := s.NewInvite("ann b", clock.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	second, two, err := s.NewInvite("", time.Time{})
	if err != nil || first == second {
		t.Fatalf("NewInvite twice: got the codes %s and %s, error %v; want two different codes", first, second, err)
	}
	file := read(t, dir, "invites")
	if strings.Contains(file, first) || strings.Contains(strings.ToUpper(file), strings.ReplaceAll(first, "-", "")) {
		t.Errorf("invites: got the code %s in the file, want its hash only:\n%s", first, file)
	}
	write(t, dir, "invites", "# note\nrubbish\n"+file)
	list, err := s.Invites()
	if err != nil || len(list) != 2 || list[0].ID != one.ID || list[0].By != "ann b" || !list[0].Until.Equal(clock.Add(time.Hour)) || list[1].ID != two.ID {
		t.Errorf("Invites: got %+v and error %v, want the invites %s (by ann b, for an hour) and %s", list, err, one.ID, two.ID)
	}
	clock = clock.Add(time.Hour)
	if list, _ := s.Invites(); len(list) != 1 {
		t.Errorf("Invites after an hour: got %+v, want only the one that does not expire", list)
	}
	if err := s.RevokeInvite(two.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Register("bob", "correct horse", second); err != ErrInvite {
		t.Errorf("Register with a revoked code: got %v, want ErrInvite", err)
	}
	if got := read(t, dir, "invites"); !strings.HasPrefix(got, "# note\nrubbish\n") {
		t.Errorf("invites: got the file\n%s\nwant its first two lines, a comment and an invalid line, unchanged", got)
	}
}
