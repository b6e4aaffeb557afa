package account

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func TestRegisterFollowsThePolicy(t *testing.T) {
	for _, c := range []struct {
		policy                 Registration
		name, password, invite string
		want                   error
	}{
		{RegistrationOpen, "bob", "long enough", "", nil},
		{RegistrationOpen, "ANN", "long enough", "", ErrExists},
		{RegistrationOpen, "gone", "long enough", "", ErrExists},
		{RegistrationOpen, "half", "long enough", "", ErrExists},
		{RegistrationOpen, "b b", "long enough", "", ErrName},
		{RegistrationOpen, "bob", "short", "", ErrPassword},
		{RegistrationOpen, "bob", strings.Repeat("x", MaxPassword+1), "", ErrPassword},
		{RegistrationOpen, "bob", "long \U0001F600 enough", "", ErrPassword},
		{RegistrationOpen, "bob", "long\x00enough", "", ErrPassword},
		{RegistrationOpen, "bob", "long\xffenough", "", ErrPassword},
		{RegistrationOff, "bob", "long enough", "good", ErrClosed},
		{RegistrationByInvite, "bob", "long enough", "good", nil},
		{RegistrationByInvite, "bob", "long enough", "", ErrInvite},
		{RegistrationByInvite, "bob", "long enough", "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA-A", ErrInvite},
		{RegistrationByInvite, "bob", "long enough", "old", ErrInvite},
		// names can't be asked for without a code
		{RegistrationByInvite, "ANN", "long enough", "", ErrInvite},
		{RegistrationByInvite, "ANN", "long enough", "good", ErrExists},
	} {
		dir := t.TempDir()
		write(t, dir, "accounts", "ann -\ngone - removed=2026-11-20T08:00:00Z\nhalf SCRAM-SHA-256$\n")
		clock := time.Now()
		s := open(t, dir, Options{Registration: c.policy, Now: func() time.Time { return clock }})
		old, _, _ := s.NewInvite("", clock.Add(time.Minute))
		clock = clock.Add(time.Minute)
		good, _, err := s.NewInvite("", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		code := map[string]string{"good": strings.ToLower(strings.ReplaceAll(good, "-", " ")), "old": old}[c.invite]
		if code == "" {
			code = c.invite
		}
		before := read(t, dir, "accounts")
		a, err := s.Register(c.name, c.password, code)
		if !errors.Is(err, c.want) || (err == nil) != (a != nil) {
			t.Errorf("Register for %+v: got %+v and error %v, want error %v", c, a, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), c.password) || read(t, dir, "accounts") != before) {
			t.Errorf("refused Register for %+v: got error %q and the file\n%s\nwant an error without the password and the file unchanged:\n%s", c, err, read(t, dir, "accounts"), before)
		}
		if err != nil {
			continue
		}
		if _, err := s.Plain(c.name, c.password); err != nil || a.Role != Member {
			t.Errorf("PLAIN login after Register for %+v: got error %v, account %+v; want a login and the role member", c, err, a)
		}
		if _, err := s.Register("carl", c.password, code); c.policy == RegistrationByInvite && err != ErrInvite {
			t.Errorf("%+v: Register with a used code: got %v, want ErrInvite", c, err)
		}
	}
}

// TestAChangeLeavesOtherLinesUnchanged checks that a change leaves comments, empty lines, damaged
// lines and unknown keys byte for byte.
func TestAChangeLeavesOtherLinesUnchanged(t *testing.T) {
	dir := t.TempDir()
	head := "# my family\n\nbroken SCRAM-SHA-256$4096:nonsense role=admin\nANN - x\n"
	write(t, dir, "accounts", "ann   -  x-shoe=44 role=member\n"+head+"carl - y=1")
	write(t, dir, "bans", "# why not\n:-( reason=damaged\n")
	s := open(t, dir, Options{})
	for _, err := range []error{
		s.SetRole("ANN", Operator), s.AddCert("ann", strings.Repeat("AB:", 31)+"ab"), s.AddCert("ann", strings.Repeat("cd", 32)),
		s.RemoveCert("ann", strings.Repeat("ab", 32)), s.Remove("carl", false),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Ban(Ban{Pattern: "mallory"}); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, dir, "accounts"), "ann - x-shoe=44 role=operator certfp="+strings.Repeat("cd", 32)+"\n"+head+"carl - y=1 removed="; !strings.HasPrefix(got, want) {
		t.Errorf("accounts: got the file\n%s\nwant it to begin with\n%s", got, want)
	}
	if got := read(t, dir, "bans"); !strings.HasPrefix(got, "# why not\n:-( reason=damaged\nmallory created=") {
		t.Errorf("bans: got the file\n%s\nwant its two lines unchanged, then mallory's ban", got)
	}
	if all := errors.Join(s.Problems()...).Error(); strings.Count(all, "\n") != 2 || !strings.Contains(all, "accounts:4: the verifier is damaged") ||
		!strings.Contains(all, "accounts:5: line 1 already has the account \"ANN\"") || !strings.Contains(all, "bans:2: ") || strings.Contains(all, "nonsense") {
		t.Errorf("Problems: got\n%s\nwant accounts:4, accounts:5 and bans:2, without the damaged verifier's text", all)
	}
	for _, name := range []string{"accounts", "bans", "secret", "accounts.lock"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || name != "accounts.lock" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got mode %v and error %v, want 0600 (only the owner may read it)", name, info.Mode(), err)
		}
	}
}

func TestARemovedNameIsReservedUntilFreed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{Registration: RegistrationOpen})
	add(t, s, "ann", "correct horse")
	s.SetReadMarker("ann", "", "abcdefgh", 17)
	if err := errors.Join(s.marks.flush(), s.Remove("Ann", false)); err != nil {
		t.Fatal(err)
	}
	if s.Lookup("ann") != nil || len(s.Accounts()) != 0 || read(t, dir, "marks/ann") != "" {
		t.Errorf("after Remove: got ann %+v, %d accounts, marks/ann %q; want none", s.Lookup("ann"), len(s.Accounts()), read(t, dir, "marks/ann"))
	}
	if _, err := s.Plain("ann", "correct horse"); err != ErrLoginFailed {
		t.Errorf("login of a removed account: got %v, want ErrLoginFailed", err)
	}
	if _, err := s.Register("ann", "correct horse", ""); !errors.Is(err, ErrExists) {
		t.Errorf("Register of a removed account's name: got %v, want ErrExists", err)
	}
	if err := s.Remove("ann", false); !errors.Is(err, ErrUnknown) {
		t.Errorf("Remove of a removed account: got %v, want ErrUnknown", err)
	}
	if _, err := s.Add("Ann", "correct horse", Member, true); err != nil {
		t.Errorf("Add with reuse: got %v, want nil", err)
	}
	if err := errors.Join(s.Remove("ann", false), s.Remove("ann", true)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Register("ann", "correct horse", ""); err != nil {
		t.Errorf("Register of a freed name: got %v, want nil", err)
	}
}

func TestChangesOfUnknownAccountsAreRejected(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	add(t, s, "ann", "correct horse")
	add(t, s, "bob", "correct horse")
	cert := strings.Repeat("ab", 32)
	if err := s.AddCert("ann", cert); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ err, want error }{
		"role of an unknown account":        {s.SetRole("carl", Admin), ErrUnknown},
		"no such role":                      {s.SetRole("ann", "king"), ErrRole},
		"password of an unknown account":    {s.SetPassword("carl", "correct horse"), ErrUnknown},
		"short password":                    {s.SetPassword("ann", "short"), ErrPassword},
		"removal of an unknown account":     {s.Remove("carl", false), ErrUnknown},
		"release of an unknown account":     {s.Remove("carl", true), ErrUnknown},
		"no fingerprint":                    {s.AddCert("ann", "abcd"), ErrFingerprint},
		"certificate of an unknown account": {s.AddCert("carl", cert), ErrUnknown},
		"cert of another":                   {s.AddCert("bob", cert), ErrExists},
		"cert twice":                        {s.AddCert("ann", cert), nil},
		"cert that is not":                  {s.RemoveCert("bob", cert), ErrUnknown},
		"no such ban":                       {s.Unban("carl"), ErrUnknown},
		"no such invite":                    {s.RevokeInvite("0123456789ab"), ErrUnknown},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: got %v, want %v", what, c.err, c.want)
		}
	}
	if err := s.SetPassword("ANN", "another horse"); err != nil {
		t.Fatal(err)
	}
	_, old := s.Plain("ann", "correct horse")
	_, fresh := s.Plain("ann", "another horse")
	if old != ErrLoginFailed || fresh != nil {
		t.Errorf("after SetPassword: got %v for the old password and %v for the new one, want ErrLoginFailed and nil", old, fresh)
	}
}
