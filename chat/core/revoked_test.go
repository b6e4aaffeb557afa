package core

import (
	"testing"

	"weir/chat/account"
)

// A client that has logged in and waits with CAP END must not become a user of an account that is
// removed meanwhile.
func TestALoginEndsWithItsAccountBeforeRegistration(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	c := s.client("ann")
	c.send("CAP REQ :sasl", "NICK ann", "USER ann 0 * :ann", "AUTHENTICATE PLAIN", "AUTHENTICATE "+plain("ann", "correct horse"))
	c.until(" 903 ")
	if err := s.chat.accounts.Remove("ann", false); err != nil {
		t.Fatal(err)
	}
	s.chat.withLock(s.chat.Tick)
	c.send("CAP END")
	s.chat.untilIdle()
	s.chat.withLock(s.chat.Tick)
	s.chat.untilIdle()
	if u := s.chat.users["ann"]; u != nil {
		t.Errorf("the account was removed between its login and CAP END: got the user %q, want none", u.source)
	}
}

// The same holds between the two last steps of SCRAM.
func TestAnExchangeEndsWithItsAccount(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	c := s.user("guest")
	c.session.sasl = &saslExchange{mechanism: "SCRAM-SHA-256"}
	c.session.sasl.login = account.Login{Account: s.chat.accounts.Lookup("ann")}
	if err := s.chat.accounts.Remove("ann", false); err != nil {
		t.Fatal(err)
	}
	c.send("AUTHENTICATE +")
	c.until(" 904 ")
	if u := s.chat.findUser("ann"); u != nil {
		t.Errorf("the account was removed before the end of the exchange: got the user %q, want none", u.source)
	}
}
