package chat

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/chat/account"
	"weir/serve"
)

// A client without chathistory is replayed messages that were sent to a connection which broke
// before they arrived.
func TestMessagesLostInFlightAreReplayed(t *testing.T) {
	everyWay(t, func(t *testing.T, s *server) {
		s.account("ann", "secret of ann", account.Member)
		ann := s.narrow("ann")
		ann.logIn("#r")
		ann.until(" 366 ")
		bob := s.user("bob")
		bob.send("JOIN #r", "PRIVMSG #r :seen")
		ann.until("PRIVMSG #r :seen")
		bob.sync()

		lost := 0
		for s.sends(0) {
			for range 32 {
				bob.send(fmt.Sprintf("PRIVMSG #r :%d %s", lost, strings.Repeat("x", 400)))
				lost++
			}
			bob.sync()
		}
		s.chat.withLock(s.chat.core.SaveReadMarkers)
		ann.conn.(*net.TCPConn).SetLinger(0)
		ann.conn.Close()
		bob.until(" QUIT ")

		back := s.client("ann")
		back.logIn("#r")
		back.until(fmt.Sprintf("] %d ", lost-1))
		back.until(" 366 ")
	})
}

// Messages that a client had not received when it closed its connection are replayed, too: a client
// closes one on which it has heard nothing for a while. So are those in flight when the server
// stops.
func TestMessagesInFlightAtTheEndAreReplayed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("acknowledgments are known on Linux")
	}
	for name, end := range map[string]func(s *server, ann, bob *client){
		"the client closes": func(s *server, ann, bob *client) {
			ann.conn.(*net.TCPConn).CloseWrite()
			bob.until(" QUIT ")
		},
		"the server stops": func(s *server, ann, bob *client) {
			s.stop()
			time.AfterFunc(100*time.Millisecond, func() { ann.conn.(*net.TCPConn).SetLinger(0); ann.conn.Close() })
			s.halt()
		},
	} {
		t.Run(name, func(t *testing.T) {
			everyWay(t, func(t *testing.T, s *server) {
				s.account("ann", "secret of ann", account.Member)
				ann := s.narrow("ann")
				ann.logIn("#r")
				ann.until(" 366 ")
				bob := s.user("bob")
				bob.send("JOIN #r", "PRIVMSG #r :seen")
				ann.until("PRIVMSG #r :seen")
				for i := range 100 {
					bob.send(fmt.Sprintf("PRIVMSG #r :%d %s", i, strings.Repeat("x", 400)))
				}
				bob.sync()
				end(s, ann, bob)

				back := s.run().client("ann")
				back.logIn("#r")
				back.until("] 99 ")
				back.until(" 366 ")
			})
		})
	}
}

// narrow returns a client with a small receive buffer.
func (s *server) narrow(name string) *client {
	s.t.Helper()
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}}
	conn, err := d.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.clientOn(name, conn)
}

// logIn logs in as a device of an account and joins rooms.
func (c *client) logIn(rooms string) {
	c.send("PASS :"+c.name+"@phone:secret of "+c.name, "NICK "+c.name, "USER "+c.name+" 0 * :"+c.name)
	c.until(" 221 " + c.name)
	c.send("JOIN " + rooms)
}

// sends reports whether nothing is queued here for the connection that was opened as number i.
func (s *server) sends(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent, _ := serve.Delivered(s.conns[i])
	return sent
}
