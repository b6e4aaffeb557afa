package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/chat/account"
	"weir/serve"
)

// An attacker gains nothing by a restart of the server.
func TestGuessesDoNotLockOutAnAccountsOwnerAfterARestart(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	try, home := attempts["SASL PLAIN"], address(1)
	if got := try(s, home, "ann", "correct horse"); got != "welcome" {
		t.Fatalf("ann received %q before any failed login, want welcome", got)
	}
	s.halt()
	path := filepath.Join(s.dir, "networks")
	if text, err := os.ReadFile(path); err != nil || string(text) != "ann 192.0.2.2/32\n" {
		t.Errorf("networks: got the file %q and error %v, want the network of ann", text, err)
	}
	damage, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := damage.WriteString("\nann\nann nowhere\nnobody 192.0.2.9/32\nann 2001:db8::/64 and more\n"); err != nil {
		t.Fatal(err)
	}
	damage.Close()
	s.run()
	s.guess("ann")
	if got := try(s, home, "ann", "correct horse"); got != "welcome" {
		t.Errorf("after a restart ann received %q where she has logged in before, want that she is let in", got)
	}
	if got := try(s, address(2), "ann", "correct horse"); !strings.Contains(got, "too many attempts") {
		t.Errorf("a stranger received %q, want that there were too many attempts", got)
	}
	s.chat.withLock(func() {
		if n := len(s.chat.knownNetworks); n != 1 || len(s.chat.knownNetworks["ann"]) != 1 {
			t.Errorf("after a restart these are known: %v, want one network of ann's", s.chat.knownNetworks)
		}
	})
}
