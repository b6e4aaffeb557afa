package core

import (
	"strings"
	"testing"

	"weir/chat/account"
)

// stepUntil takes steps of the core until a condition holds.
func (s *shell) stepUntil(t *testing.T, what string, so func() bool) {
	t.Helper()
	for !so() {
		if !s.step() {
			t.Fatalf("the core is at rest, want that %s", what)
		}
	}
}

// isCatchingUp reports whether a client's session is catching up in a room.
func (c *client) isCatchingUp(room string) bool {
	r := c.shell.rooms[room]
	if r == nil {
		return false
	}
	sub := r.subscriptionOf(c.session)
	return sub != nil && sub.state == catchingUp
}

// believesToBeIn returns whether a client that has read these lines shows itself in a room.
func believesToBeIn(lines []string, nick, room string) (in bool) {
	for _, line := range lines {
		if _, rest, _ := strings.Cut(line, ":"+nick+"!"); rest != "" {
			in = in && !strings.Contains(rest, " PART "+room) || strings.Contains(rest, " JOIN "+room)
		}
	}
	return in
}

// A session that catches up in a room receives no PART and no KICK, because it is not live. It must
// not go on to receive the JOIN alone.
func TestASessionThatIsRemovedWhileItCatchesUpReceivesNoJoinAlone(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	first := s.loggedIn("ann")
	first.send("JOIN #r", "PRIVMSG #r :hello")
	first.sync()
	second := s.client("ann")
	second.send("PASS :ann@phone:correct horse", "NICK ann", "USER ann 0 * :ann")
	s.chat.stepUntil(t, "the second session catches up", func() bool { return second.isCatchingUp("#r") })
	first.send("PART #r")
	first.step()
	if lines := second.sync(); believesToBeIn(lines, "ann", "#r") {
		t.Errorf("the other device has left while this one resumed: got\n%s\nwant no JOIN, or a PART after it", strings.Join(lines, "\n"))
	}
}

func TestAUserThatIsKickedWhileItJoinsReceivesAPart(t *testing.T) {
	s := startServer(t, Options{}).run()
	op, bob := s.user("op"), s.user("bob")
	op.send("JOIN #r", "PRIVMSG #r :hello")
	op.sync()
	bob.send("JOIN #r")
	s.chat.stepUntil(t, "bob catches up", func() bool { return bob.isCatchingUp("#r") })
	op.send("KICK #r bob")
	op.step()
	lines := bob.sync()
	if text := strings.Join(lines, "\n"); !strings.Contains(text, " JOIN #r") || believesToBeIn(lines, "bob", "#r") {
		t.Errorf("bob was kicked while he joined: got\n%s\nwant a JOIN, and a PART after it", text)
	}
}

// Two devices of an account that leave and join at the same time tell each other's sessions of it.
func TestTwoDevicesThatRejoinAtOnceReceiveWholeLines(t *testing.T) {
	s := startServer(t, Options{})
	s.account("ann", "correct horse", account.Member)
	s.run()
	first, second := s.loggedIn("ann"), s.loggedIn("ann")
	first.send("JOIN #r", "PRIVMSG #r :hello")
	first.sync()
	second.sync()
	first.out = nil
	first.send("PART #r", "PING :1", "JOIN #r")
	s.chat.stepUntil(t, "the first device catches up", func() bool { return first.isCatchingUp("#r") })
	joining := s.chat.begun // a job takes a while
	s.chat.begun = nil
	second.send("PART #r", "JOIN #r")
	s.chat.untilIdle()
	s.chat.begun = joining
	lines := first.sync()
	for _, line := range lines {
		if strings.Count(line, "ann!") > 1 || strings.Count(line, "weir.chat") > 1 && !strings.Contains(line, "PONG") {
			t.Errorf("got the line %q, want one whole line", line)
		}
	}
	if !believesToBeIn(lines, "ann", "#r") {
		t.Errorf("got\n%s\nwant the first device in #r", strings.Join(lines, "\n"))
	}
}
