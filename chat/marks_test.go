package chat

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"weir/chat/account"
	"weir/serve"
)

// Who does not know chathistory is replayed what has not reached him, also when the server had sent it: his connection was lost with it under way.
func TestWhatWasLostWithAConnectionIsReplayed(t *testing.T) {
	everyWay(t, func(t *testing.T, s *server) {
		s.account("ann", "secret of ann", account.Member)
		logIn := func(c *client) {
			c.send("PASS :ann@phone:secret of ann", "NICK ann", "USER ann 0 * :ann")
			c.until(" 221 ann")
			c.send("JOIN #r")
		}
		small := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error { // so that little is under way before it waits
			return raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
		}}
		conn, err := small.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		ann := s.clientOn("ann", conn)
		logIn(ann)
		ann.until(" 366 ")
		bob := s.user("bob")
		bob.send("JOIN #r", "PRIVMSG #r :seen")
		ann.until("PRIVMSG #r :seen")
		bob.settled()

		lost := 0
		for s.sends(t, "ann") {
			for range 32 {
				bob.send(fmt.Sprintf("PRIVMSG #r :%d %s", lost, strings.Repeat("x", 400)))
				lost++
			}
			bob.settled()
		}
		s.chat.keepMarks()
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
		bob.until(" QUIT ")

		back := s.client("ann")
		logIn(back)
		back.until(fmt.Sprintf("PRIVMSG #r :%d ", lost-1))
		back.until(" 366 ")
	})
}

// sends says whether nothing waits here for the only session of a user.
func (s *server) sends(t *testing.T, nick string) bool {
	t.Helper()
	s.chat.mu.Lock()
	defer s.chat.mu.Unlock()
	u := s.chat.users[nick]
	if u == nil || len(u.sessions) != 1 {
		t.Fatal(nick, "is not there by one session")
	}
	sent, _ := serve.Delivered(u.sessions[0].conn)
	return sent
}
