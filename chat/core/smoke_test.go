package core

import (
	"testing"

	"weir/chat/account"
)

func TestSmoke(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	a, b := s.loggedIn("ann"), s.user("bob")
	a.send("JOIN #r")
	a.until(" 366 ")
	b.send("JOIN #r")
	b.until(" 366 ")
	a.send("PRIVMSG #r :hello", "TOPIC #r :x")
	t.Log(b.until("hello"))
	t.Log(b.until("TOPIC"), s.stateFile("#r"))
	s.halt()
	s.run()
	b = s.user("bob")
	b.send("JOIN #r")
	t.Log(b.sync())
}
