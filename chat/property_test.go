package chat

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/chat/account"
	"weir/chat/irc"
	"weir/serve"
)

// What clients say at random: whole commands with parameters that are right now and then, and rubbish.
var (
	someCommands = []string{"JOIN", "PART", "PRIVMSG", "NOTICE", "TAGMSG", "NICK", "MODE", "TOPIC", "KICK", "INVITE", "NAMES", "WHO", "WHOIS", "LIST",
		"AWAY", "SETNAME", "MONITOR", "ISON", "USERHOST", "CAP", "CHATHISTORY", "MARKREAD", "REDACT", "BATCH", "METADATA", "RENAME", "LUSERS", "MOTD",
		"AUTHENTICATE", "REGISTER", "VERIFY", "USER", "PASS", "OPER", "KILL", "KLINE", "PING", "PONG", "WHOWAS", "VERSION", "TIME", "INFO", "ADMIN", "FROB"}
	someParams = []string{"#a", "#b", "#A", "#a,#b", "ann", "bob", "cid", "ANN", "nobody", "*", "0", "+o", "-o+v", "+ntsimC", "+b", "+k", "-k", "+l", "2", "key", "ann!*@*",
		":", ":some text", ":\x01ACTION waves\x01", "LS", "302", "REQ", ":echo-message labeled-response message-tags batch server-time draft/multiline draft/chathistory", ":-echo-message",
		"LIST", "LATEST", "BEFORE", "AROUND", "TARGETS", "msgid=aaaaaaaa-0", "timestamp=2026-01-01T00:00:00.000Z", "10", "+", "-", "C", "S", "%tcnuhraf,7", "@#a", "+#b",
		"+1", "-1", "draft/multiline", "GET", "SET", "CLEAR", "SUB", "PLAIN", "AGFubgBhbm4=", "%", ",", ",,", "@", "é"}
	someTags = []string{"", "@label=x ", "@+draft/react=y ", "@batch=1 ", "@batch=1;draft/multiline-concat ", "@+typing=active;label=q ", "@a=\\ "}
)

func randomLine(t *rapid.T) string {
	if rapid.IntRange(0, 20).Draw(t, "rubbish") == 0 {
		return strings.NewReplacer("\n", "", "\r", "").Replace(string(rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(t, "bytes")))
	}
	line := rapid.SampledFrom(someTags).Draw(t, "tags") + rapid.SampledFrom(someCommands).Draw(t, "command")
	for range rapid.IntRange(0, 4).Draw(t, "params") {
		line += " " + rapid.SampledFrom(someParams).Draw(t, "param")
	}
	return line
}

func TestRandomLinesKeepEverythingConsistent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := startServer(t, serve.Goroutine, Options{Registration: account.ByAnybody}).run()
		defer s.halt()
		clients := make([]*client, 3)
		names := []string{"ann", "bob", "cid"}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			i := rapid.IntRange(0, 2).Draw(rt, "who")
			switch {
			case clients[i] == nil:
				clients[i] = s.client(names[i])
				clients[i].send(fmt.Sprintf("NICK %s%d", names[i], rapid.IntRange(0, 1).Draw(rt, "nick")), "USER u 0 * :U")
			case rapid.IntRange(0, 15).Draw(rt, "leave") == 0:
				clients[i].conn.Close()
				clients[i] = nil
				continue
			default:
				clients[i].send(randomLine(rt))
			}
			if !clients[i].stillThere() {
				clients[i] = nil
			}
			s.chat.mu.Lock()
			fault := s.chat.fault()
			s.chat.mu.Unlock()
			if fault != "" {
				rt.Fatal(fault)
			}
		}
		for _, c := range clients {
			if c != nil {
				c.conn.Close()
			}
		}
		waitFor(t, func() bool { return s.chat.Counts().Sessions == 0 })
		if now := s.chat.Counts(); now.Users != 0 {
			rt.Fatalf("%d users are left without a session", now.Users)
		}
	})
}

// stillThere waits until the server has handled what was said; false: it ended the connection.
func (c *client) stillThere() bool {
	c.conn.Write([]byte("PING :settled?\r\n"))
	for {
		line, ok := c.line()
		if !ok {
			return false
		}
		if strings.HasSuffix(line, "PONG weir.chat :settled?") {
			return true
		}
	}
}

// fault is what does not fit together, "" if all does.
func (s *Service) fault() string {
	sessions := 0
	for key, u := range s.users {
		switch {
		case key != irc.Fold(u.nick) || !strings.HasPrefix(u.source, u.nick+"!"):
			return fmt.Sprintf("%s is found as %s and speaks as %s", u.nick, key, u.source)
		case len(u.sessions) == 0:
			return u.nick + " has no session"
		}
		sessions += len(u.sessions)
		for r, m := range u.rooms {
			if r.members[u] != m || m.user != u {
				return u.nick + " is in " + r.name + ", which does not know"
			}
		}
		for _, session := range u.sessions {
			if session.user != u || session.reg != nil {
				return "a session of " + u.nick + " is somebody else's"
			}
		}
	}
	if sessions+s.unknown != s.sessions {
		return fmt.Sprintf("%d sessions of users and %d others are not %d", sessions, s.unknown, s.sessions)
	}
	for _, r := range s.rooms {
		if why := r.fault(s); why != "" {
			return r.name + ": " + why
		}
	}
	return ""
}

func (r *room) fault(s *Service) string {
	seats := 0
	for u, m := range r.members {
		if u.rooms[r] != m || s.users[irc.Fold(u.nick)] != u {
			return u.nick + " is a member and does not know"
		}
		for _, session := range u.sessions {
			if r.seatOf(session) == nil {
				return "a session of " + u.nick + " has no seat"
			}
			seats++
		}
	}
	if seats != len(r.seats) {
		return fmt.Sprintf("%d seats for %d sessions", len(r.seats), seats)
	}
	return ""
}
