package account_test

import (
	"errors"
	"fmt"
	"os"
	"time"

	"weir/chat/account"
)

// A person registers with an invite, logs in from his phone, and is banned.
func Example() {
	dir, err := os.MkdirTemp("", "chat")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s, err := account.Open(dir, account.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	code, _, err := s.NewInvite("ann", time.Now().Add(24*time.Hour))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := s.Register("Bob", "correct horse", code); err != nil {
		fmt.Println(err)
		return
	}
	login, err := s.Plain("bob@Phone", "correct horse")
	fmt.Println(login.Name, login.Role, login.Device, err)
	_, err = s.Plain("bob", "battery staple")
	fmt.Println(errors.Is(err, account.ErrLoginFailed))

	s.SetReadMarker(login.Name, login.Device, "k3zq7vha", 4711)
	fmt.Println(s.ReadMarker(login.Name, login.Device, "k3zq7vha"))

	if _, err := s.Ban(account.Ban{Pattern: "bob", Reason: "be kind"}); err != nil {
		fmt.Println(err)
		return
	}
	ban, banned := s.Banned(account.Client{Account: login.Name}, time.Now())
	fmt.Println(banned, ban.Reason)
	// Output:
	// Bob member phone <nil>
	// true
	// 4711 true
	// true be kind
}
