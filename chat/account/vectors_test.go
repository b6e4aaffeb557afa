package account

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdg-go/scram"
)

var update = flag.Bool("update", false, "write the vectors again")

const (
	vectors  = "../../docs/vectors/accounts"
	zoesCert = "5f9c4ab08cac7457e9111a30e4664920607ea2c115a1433d7be98e97e64244ca"
)

// fixedVerifier has the salt that makes a vector come out the same each time.
func fixedVerifier(t *testing.T, password, salt string, iterations int) string {
	t.Helper()
	client, err := newSCRAMClient(password)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: salt, Iters: iterations})
	if err != nil {
		t.Fatal(err)
	}
	return verifier{c}.String()
}

// vectorAccounts is the file of accounts of the vectors.
func vectorAccounts(t *testing.T) string {
	zoe := fixedVerifier(t, "Grüße 1957", "sixteen bytes :)", 10_000)
	odd := fixedVerifier(t, " two  blanks, $:= ", "another sixteen!", 4096)
	late := fixedVerifier(t, "no end of line", "salt of 23 bytes, so...", 5000)
	return strings.Join([]string{
		"# Accounts of the vectors. This line stays when the file is written again.",
		rfcAccount,
		"Zoe " + zoe + " role=admin created=2026-11-21T11:30:00Z certfp=" + zoesCert + " x-note=100%25%20ours",
		"",
		"ann - certfp=" + strings.Repeat("ab", 32),
		"broken SCRAM-SHA-256$4096:nonsense",
		"ANN " + zoe,
		"gone - removed=2026-11-20T08:00:00Z",
		"\t[x]\\`_^{|}-9  " + odd + "\trole=operator ",
		"weak " + strings.Replace(rfcAccount[5:], "$4096:", "$100:", 1),
		"9lives " + zoe,
		"crlf " + strings.TrimPrefix(rfcAccount, "user ") + "\r",
		"boss " + strings.TrimPrefix(rfcAccount, "user ") + " role=king",
		"BROKEN " + strings.TrimPrefix(rfcAccount, "user "),
		"late " + late,
	}, "\n")
}

// vectorExpect is what a reader must find, checked by TestVectorsAreReadAsExpected against this
// package.
func vectorExpect() string {
	return strings.Join([]string{
		"# See README.md.",
		"secret " + strings.Repeat("0123456789abcdef", 4),
		"account 2 member user", "account 3 admin Zoe", "account 5 member ann", "damaged 6", "damaged 7", "removed 8 gone",
		"account 9 operator [x]\\`_^{|}-9", "damaged 10", "damaged 11", "account 12 member crlf", "account 13 member boss", "odd 13", "damaged 14", "account 15 member late",
		"plain yes user - user pencil", "plain yes user - USER pencil", "plain yes user phone user@phone pencil", "plain yes user phone uSer@PHONE pencil",
		"plain no - - user Pencil", "plain no - - user@ pencil", "plain no - - user@-x pencil", "plain no - - user@a@b pencil",
		"plain yes [x]\\`_^{|}-9 - [X]\\`_^{|}-9  two  blanks, $:= ", "plain no - - {x}\\`_^{|}-9  two  blanks, $:= ", "plain no - - [x]\\`_^{|}-9 two  blanks, $:= ",
		"plain yes crlf - crlf pencil", "plain yes late - late no end of line",
		"plain yes boss - boss pencil", "plain no - - ann pencil", "plain no - - gone pencil", "plain no - - weak pencil", "plain no - - broken pencil", "plain no - - " + unknownName + " pencil",
		"prep yes Zoe - zoe Grüße 1957", "prep yes Zoe - zoe Gru\u0308ße 1957", "prep yes user - user pe\u00adncil", "prep no - - zoe Grusse 1957",
		"cert Zoe " + zoesCert, "cert ann " + strings.Repeat("ab", 32),
		"decoy 10000 " + unknownName + " " + decoySalt(unknownName), "decoy 10000 " + "NoBody" + " " + decoySalt(unknownName), "decoy 10000 gone " + decoySalt("gone"),
	}, "\n") + "\n"
}

// unknownName is a name without an account in the vectors.
const unknownName = "nobody"

func decoySalt(name string) string {
	secret, _ := hex.DecodeString(strings.Repeat("0123456789abcdef", 4))
	return base64.StdEncoding.EncodeToString([]byte(decoyVerifier(secret, name, DefaultIterations).Salt))
}

// TestVectorsAreReadAsExpected reads the files of docs/vectors/accounts, which every implementation
// must read alike, and compares them with those that this package makes.
func TestVectorsAreReadAsExpected(t *testing.T) {
	for name, text := range map[string]string{"accounts": vectorAccounts(t), "expect": vectorExpect()} {
		path := filepath.Join(vectors, name)
		if *update {
			if err := os.MkdirAll(vectors, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Fatalf("%s: got other bytes than this package makes (%v), want the same: go test ./chat/account -run Vectors -update writes them", path, err)
		}
	}
	dir := t.TempDir()
	write(t, dir, "accounts", vectorAccounts(t))
	write(t, dir, "secret", strings.Repeat("0123456789abcdef", 4)+"\n")
	s := open(t, dir, Options{Iterations: DefaultIterations})
	lines := map[string]bool{}
	for line := range strings.Lines(vectorExpect()) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if err := checkVector(s, word, rest); err != nil {
			t.Errorf("vector %q: %v", strings.TrimSpace(line), err)
		}
		lines[word] = true
	}
	if len(lines) != 10 || len(s.Problems()) != 6 || len(s.Accounts()) != 7 {
		t.Errorf("got %d kinds of lines, %d problems, %d accounts; want 10, 6, 7", len(lines), len(s.Problems()), len(s.Accounts()))
	}
}

func checkVector(s *Store, word, rest string) error {
	part := strings.SplitN(rest, " ", 4)
	switch word {
	case "account":
		if a := s.Lookup(part[2]); a == nil || fmt.Sprintf("%d %s", a.record.number, a.Role) != part[0]+" "+part[1] || a.Name != part[2] {
			return fmt.Errorf("Lookup: got %+v, want the account with this line number, role and name", a)
		}
	case "removed":
		if a := s.accountIndex.names[part[1]]; a == nil || s.Lookup(part[1]) != nil || fmt.Sprint(a.record.number) != part[0] {
			return fmt.Errorf("got %+v, want a removed account of this line number that Lookup does not return", a)
		}
	case "damaged", "odd":
		if all := errors.Join(s.Problems()...).Error(); !strings.Contains(all, "accounts:"+part[0]+": ") {
			return fmt.Errorf("got the problems %s, want one for this line", all)
		}
	case "plain", "prep":
		authcid, password, _ := strings.Cut(part[3], " ")
		login, err := s.Plain(authcid, password)
		if (err == nil) != (part[0] == "yes") || err == nil && (login.Name != part[1] || login.Device != strings.Trim(part[2], "-")) {
			return fmt.Errorf("PLAIN: got %+v and error %v, want the login or the refusal of the vector", login, err)
		}
	case "cert":
		if login, err := s.External("", part[1]); err != nil || login.Name != part[0] {
			return fmt.Errorf("EXTERNAL: got %+v and error %v, want a login to the account", login, err)
		}
	case "decoy":
		first, _, _, err := s.Scram().Step("n,,n=" + part[1] + ",r=x")
		if !strings.HasSuffix(first, ",s="+part[2]+",i="+part[0]) {
			return fmt.Errorf("SCRAM: got the answer %q and error %v, want this salt and iteration count", first, err)
		}
	}
	return nil
}
