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

// An operator whose account loses that role has no right of an operator any more: whether it logged
// in to the account, or used OPER.
func TestAnOperatorLosesItsRightsWithTheRole(t *testing.T) {
	for name, lose := range map[string]func(*account.Store) error{
		"demoted": func(a *account.Store) error { return a.SetRole("ann", account.Member) },
		"removed": func(a *account.Store) error { return a.Remove("ann", false) },
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, Options{})
			s.account("ann", "correct horse", account.Operator)
			s.run()
			own := s.client("ann")
			own.send("CAP REQ :sasl", "NICK ann", "USER ann 0 * :ann", "AUTHENTICATE PLAIN", "AUTHENTICATE "+plain("ann", "correct horse"), "CAP END")
			own.until(" 221 ")
			guest, victim := s.user("guest"), s.user("victim")
			guest.send("OPER ann :correct horse")
			guest.until(" 381 ")
			if err := lose(s.chat.accounts); err != nil {
				t.Fatal(err)
			}
			s.chat.withLock(s.chat.Tick)
			guest.until(" MODE guest -o")
			if name == "demoted" {
				own.until(" MODE ann -o")
				own.send("KILL victim :bye")
				own.until(" 481 ")
			}
			guest.send("KILL victim :bye")
			guest.until(" 481 ")
			victim.sync()
		})
	}
}

// An operator by OPER, whose own account has the role too, keeps its rights.
func TestAnOperatorOfTwoAccountsNeedsOne(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Operator)
	s.account("bob", "battery staple", account.Operator)
	s.run()
	c := s.client("bob")
	c.send("CAP REQ :sasl", "NICK bob", "USER bob 0 * :bob", "AUTHENTICATE PLAIN", "AUTHENTICATE "+plain("bob", "battery staple"), "CAP END", "OPER ann :correct horse")
	c.until(" 381 ")
	for _, step := range []struct{ account, want string }{{"ann", "bob"}, {"bob", ""}} {
		if err := s.chat.accounts.SetRole(step.account, account.Member); err != nil {
			t.Fatal(err)
		}
		s.chat.withLock(s.chat.Tick)
		if u := s.chat.users["bob"]; u.oper != (step.want != "") || u.operAccount != step.want {
			t.Errorf("after %s lost the role: got an operator %v by %q, want by %q", step.account, u.oper, u.operAccount, step.want)
		}
	}
}

// An account that loses the role while OPER checks its password makes no operator.
func TestOperJudgesTheRoleAfterThePassword(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Operator)
	s.run()
	guest := s.user("guest")
	var r Turn
	s.chat.withLock(func() {
		if err := guest.session.Input([]byte("OPER ann :correct horse\r\n"), &r); err != nil {
			t.Error(err)
		}
	})
	s.chat.runJob(0) // checks the password
	if err := s.chat.accounts.SetRole("ann", account.Member); err != nil {
		t.Fatal(err)
	}
	s.chat.withLock(s.chat.Tick)
	s.chat.continueTask(0)
	guest.until(" 464 ")
	if guest.session.user.oper {
		t.Error("the account lost the role before the end of OPER: got an operator, want none")
	}
}

// A server that takes over the users knows by which account each is an operator.
func TestTheAccountOfAnOperatorIsHandedOver(t *testing.T) {
	for _, c := range []struct{ state, want userState }{
		{userState{Oper: true, Account: "ann", OperAccount: "bob"}, userState{OperAccount: "bob"}},
		// of a version that did not hand it over
		{userState{Oper: true, Account: "ann"}, userState{OperAccount: "ann"}},
	} {
		s := startServer(t, Options{})
		s.run()
		c.state.Nick = "ann"
		s.chat.withLock(func() {
			s.chat.StartTask(OrdinaryJobs, func(task *Task) {
				if err := s.chat.restoreUser(task, c.state); err != nil {
					t.Error(err)
				}
			}, func(err error) { t.Error(err) })
		})
		s.chat.untilIdle()
		if got := s.chat.users["ann"].encodeState(); !got.Oper || got.OperAccount != c.want.OperAccount {
			t.Errorf("%+v: got an operator by %q, want by %q", c.state, got.OperAccount, c.want.OperAccount)
		}
	}
}

// The name of a removed account stays reserved: no guest can pass for its former owner, until an
// administrator frees the name.
func TestANameOfARemovedAccountIsNoNick(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	guest := s.user("guest")
	for _, c := range []struct {
		free  bool
		reply string
	}{{false, " 433 "}, {true, " NICK Ann"}} {
		if err := s.chat.accounts.Remove("ann", c.free); err != nil {
			t.Fatal(err)
		}
		guest.send("NICK Ann")
		guest.until(c.reply)
	}
}
