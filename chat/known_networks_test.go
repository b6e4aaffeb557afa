package chat

import (
	"errors"
	"net/netip"
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
	home, path := netip.MustParseAddr("192.0.2.2"), filepath.Join(s.dir, "networks")
	logIn := func(from netip.Addr, password string) error {
		_, err := s.chat.AccountByPassword(t.Context(), from, "ann", password)
		return err
	}
	if err := logIn(home, "correct horse"); err != nil {
		t.Fatalf("got %v before any failed login, want that ann is let in", err)
	}
	s.halt()
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
	for i := range 110 { // two from each address
		s.chat.withLock(func() {
			from := netip.AddrFrom4([4]byte{198, 51, 100, byte(i / 2)})
			_, _ = s.chat.core.FinishUploaderLogin(Peer{Addr: from}, "ann", account.Login{}, account.ErrLoginFailed)
		})
	}
	if err := logIn(home, "correct horse"); err != nil {
		t.Errorf("after a restart: got %v where ann has logged in before, want that she is let in", err)
	}
	var throttled *ThrottledError
	if err := logIn(netip.MustParseAddr("192.0.2.3"), "correct horse"); !errors.As(err, &throttled) {
		t.Errorf("a stranger: got %v, want that there were too many attempts", err)
	}
	if err := logIn(netip.MustParseAddr("127.0.0.1"), "correct horse"); !errors.As(err, &throttled) {
		t.Errorf("a client of this machine: got %v, want that there were too many attempts", err)
	}
	s.halt()
	if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "ann 192.0.2.2/32\n") {
		t.Errorf("networks after the damage: got %q and error %v, want the network of ann", text, err)
	}
}
