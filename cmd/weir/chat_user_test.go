package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/chat/account"
)

// chatCommand runs weir chat ARGS --data DIR with a text on standard input.
func chatCommand(t *testing.T, dir, in string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(binary(t), append(append([]string{"chat"}, args...), "--data", dir)...)
	var out, failed strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &failed
	cmd.Env = append(os.Environ(), "USER=root of it")
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok {
		code = exit.ExitCode()
	}
	return out.String(), failed.String(), code
}

// Each command does what it says on a data directory that a server has open, and the server sees
// it.
func TestChatUserChangesTheAccountsOfARunningServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chat")
	do := func(in string, args ...string) string {
		t.Helper()
		out, failed, code := chatCommand(t, dir, in, args...)
		if code != 0 {
			t.Fatalf("weir chat %q: got exit status %d, want 0: %s", args, code, failed)
		}
		return out
	}
	do("correct horse\n", "user", "add", "Ann", "--role", "admin")
	server, err := account.Open(dir, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	before := server.Generation()
	do("another horse", "user", "add", "bob")
	do("a third horse\r\n", "user", "passwd", "ANN")
	do("", "user", "role", "bob", "operator")
	cert := strings.Repeat("ab", 32)
	do("", "user", "cert", "bob", cert)
	if server.Generation() <= before {
		t.Errorf("accounts' generation after changes by the command: got %d, want more than %d, so that a server notices", server.Generation(), before)
	}
	ann, err1 := server.Plain("ann", "a third horse")
	bob, err2 := server.External("", cert)
	if err1 != nil || err2 != nil || ann.Role != account.Admin || bob.Name != "bob" || bob.Role != account.Operator {
		t.Errorf("logins: got %+v (%v) and %+v (%v), want Ann as admin and bob as operator", ann, err1, bob, err2)
	}
	table, list := do("", "user", "list"), []map[string]any{}
	if err := json.Unmarshal([]byte(do("", "user", "list", "--json")), &list); err != nil || len(list) != 2 || list[0]["name"] != "Ann" || list[0]["role"] != "admin" || list[0]["password"] != true {
		t.Errorf("user list --json: got %v, error %v, want 2 accounts, Ann first as admin with a password", list, err)
	}
	if !strings.Contains(table, "Ann") || !strings.Contains(table, "password, certificate abab") || strings.Contains(table, "SCRAM") {
		t.Errorf("user list: want Ann, and bob with password and certificate, no word of SCRAM, got\n%s", table)
	}
	do("", "user", "cert", "bob", cert, "--remove")
	do("", "user", "remove", "Bob")
	if server.Lookup("bob") != nil {
		t.Error("bob's account after user remove: got one, want none")
	}
}

func TestChatBansAndInvitesAreListedAndRevoked(t *testing.T) {
	dir := t.TempDir()
	ban, _, code := chatCommand(t, dir, "", "user", "ban", "mal*!*@*", "--for", "2w", "--reason", "calm down", "--json")
	var made account.Ban
	if err := json.Unmarshal([]byte(ban), &made); err != nil || code != 0 || made.By != "root of it" || made.Until.Sub(made.Created).Round(time.Hour) != 14*24*time.Hour {
		t.Errorf("user ban --for 2w: got exit status %d, %+v, error %v, want 0 and a ban of two weeks by root", code, made, err)
	}
	if table, _, _ := chatCommand(t, dir, "", "user", "bans"); !strings.Contains(table, "mal*!*@*") || !strings.Contains(table, "calm down") {
		t.Errorf("user bans: want mal*!*@* with its reason, got\n%s", table)
	}
	chatCommand(t, dir, "", "user", "unban", "MAL*!*@*")
	if list, _, _ := chatCommand(t, dir, "", "user", "bans", "--json"); strings.TrimSpace(list) != "[]" {
		t.Errorf("user bans after unban in capital letters: got %s, want []", list)
	}
	printed, stderr, code := chatCommand(t, dir, "", "invite")
	if code != 0 || len(strings.TrimSpace(printed)) != 31 || !strings.Contains(stderr, "cannot be shown again") {
		t.Errorf("invite: got exit status %d, %q, %q, want 0, a code of 31 characters, and a note that it cannot be shown again", code, printed, stderr)
	}
	var invites []account.Invite
	list, _, _ := chatCommand(t, dir, "", "invite", "list", "--json")
	if err := json.Unmarshal([]byte(list), &invites); err != nil || len(invites) != 1 || invites[0].Until.IsZero() || strings.Contains(list, printed[:5]) {
		t.Fatalf("invite list: got %s, error %v, want one invite with a time limit and without its code", list, err)
	}
	s, err := account.Open(dir, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Register("carl", "correct horse", strings.TrimSpace(printed)); err != nil {
		t.Errorf("registration with the invite's code: got %v, want an account", err)
	}
	if _, _, code := chatCommand(t, dir, "", "invite", "revoke", invites[0].ID); code != 1 {
		t.Errorf("revoking a used code: got exit status %d, want 1", code)
	}
}

// A span is limited to a century in every unit, so that no number of weeks overflows a Duration.
func TestSpanIsAtMostACentury(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{"0": 0, "45m": 45 * time.Minute, "7d": 7 * day, "2w": 14 * day, "36500d": 36500 * day, "5214w": 5214 * 7 * day} {
		var s span
		if err := s.UnmarshalText([]byte(text)); err != nil || time.Duration(s) != want {
			t.Errorf("span %s: got %v (%v), want %v", text, time.Duration(s), err, want)
		}
	}
	for _, text := range []string{"36501d", "5215w", "15251w", "36500w", "65536w", "876001h", "-1d", "d", "7"} {
		var s span
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("span %s: got %v, want an error", text, time.Duration(s))
		}
	}
}

// A refusal is one line that tells what is wrong, and never a password.
func TestChatUserRefusesWrongInput(t *testing.T) {
	dir := t.TempDir()
	chatCommand(t, dir, "correct horse\n", "user", "add", "ann")
	chatCommand(t, dir, "correct horse\n", "user", "add", "gone")
	chatCommand(t, dir, "", "user", "remove", "gone")
	for _, c := range []struct {
		in   string
		args []string
		code int
		says string
	}{
		{"correct horse\n", []string{"user", "add", "a,b"}, 2, `"a,b"`},
		{"correct horse\n", []string{"user", "add", "ANN"}, 1, "the name is taken: ANN"},
		{"correct horse\n", []string{"user", "add", "gone"}, 1, "--reuse"},
		{"horse\n", []string{"user", "add", "bob"}, 1, "5 characters, want at least 8"},
		{"", []string{"user", "add", "bob"}, 1, "standard input is empty"},
		{"correct horse\n", []string{"user", "add", "bob", "--role", "king"}, 2, "king"},
		{"", []string{"user", "passwd", "bob"}, 1, `no account "bob"`},
		{"", []string{"user", "remove", "bob"}, 1, `"bob"`},
		{"", []string{"user", "cert", "ann", "abcd"}, 1, "64 hex digits"},
		{"", []string{"user", "ban", "*!*@*"}, 1, "matches every client"},
		{"", []string{"user", "ban", "ann", "--for", "soon"}, 2, "soon"},
		{"", []string{"user", "unban", "ann"}, 1, `"ann"`},
		{"", []string{"invite", "revoke", "abc"}, 1, `"abc"`},
	} {
		out, failed, code := chatCommand(t, dir, c.in, c.args...)
		last := strings.TrimSpace(failed[strings.LastIndex(strings.TrimSpace(failed), "\n")+1:])
		if code != c.code || out != "" || !strings.HasPrefix(last, "weir: ") || !strings.Contains(last, c.says) || strings.Contains(failed, "horse") {
			t.Errorf("weir chat %q: exit status %d, %q, want %d and %q", c.args, code, failed, c.code, c.says)
		}
	}
	if _, failed, code := chatCommand(t, filepath.Join(dir, "none"), "", "user", "list"); code != 1 || !strings.Contains(failed, "weir chat user add creates one") {
		t.Errorf("user list without a data directory: got exit status %d, %q, want 1 and the command that creates one", code, failed)
	}
}
