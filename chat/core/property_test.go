package core

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"
	"pgregory.net/rapid"

	"weir/chat/account"
	"weir/chat/irc"
	"weir/internal/testsize"
)

// Random input of clients: whole commands with parameters that are sometimes valid, and arbitrary
// bytes.
var (
	someCommands = []string{"JOIN", "PART", "PRIVMSG", "NOTICE", "TAGMSG", "NICK", "MODE", "TOPIC", "KICK", "INVITE", "NAMES", "WHO", "WHOIS", "LIST",
		"AWAY", "SETNAME", "MONITOR", "ISON", "USERHOST", "CAP", "CHATHISTORY", "SEARCH", "FILEHOST", "MARKREAD", "REDACT", "BATCH", "METADATA", "RENAME", "LUSERS", "MOTD",
		"AUTHENTICATE", "REGISTER", "VERIFY", "USER", "PASS", "OPER", "KILL", "KLINE", "PING", "PONG", "WHOWAS", "VERSION", "TIME", "INFO", "ADMIN", "FROB"}
	someParams = []string{"#a", "#b", "#A", "#a,#b", "ann", "bob", "cid", "ANN", "nobody", "*", "0", "+o", "-o+v", "+ntsimC", "+b", "+k", "-k", "+l", "2", "key", "ann!*@*",
		":", ":some text", ":\x01ACTION waves\x01", "LS", "302", "REQ", ":echo-message labeled-response message-tags batch server-time draft/multiline draft/chathistory", ":-echo-message",
		"LIST", "LATEST", "BEFORE", "AROUND", "TARGETS", "msgid=aaaaaaaa-0", "timestamp=2026-01-01T00:00:00.000Z", "10", "+", "-", "C", "S", "%tcnuhraf,7", "@#a", "+#b",
		"+1", "-1", "draft/multiline", "GET", "SET", "CLEAR", "SUB", "PLAIN", "AGFubgBhbm4=", "%", ",", ",,", "@", "é"}
	someTags = []string{"", "@label=x ", "@+draft/react=y ", "@batch=1 ", "@batch=1;draft/multiline-concat ", "@+typing=active;label=q ", "@a=\\ "}
)

// legalLines are commands that usually succeed. A word in braces is drawn from slots.
var legalLines = []string{
	"JOIN {room}", "JOIN {room} key", "PART {room} :bye", "PRIVMSG {room} :hello", "PRIVMSG {room} :hello", "PRIVMSG {nick} :psst", "NOTICE {room},{nick} :hear", "PRIVMSG @{room} :ops",
	"@+typing=active TAGMSG {room}", "@+draft/react=y;+draft/reply={msgid};label=r TAGMSG {room}", "@label=x PRIVMSG {room} :labeled", "REDACT {room} {msgid} :gone",
	"MODE {room} +o {nick}", "MODE {room} -o+v {nick} {nick}", "MODE {room} +ntsimC", "MODE {room} -imskl key", "MODE {room} +b {nick}!*@*", "MODE {room} -b {nick}!*@*",
	"MODE {room} b", "MODE {room} +kl key 2", "MODE {nick} +iB", "TOPIC {room} :all things", "TOPIC {room}", "KICK {room} {nick} :go", "INVITE {nick} {room}", "RENAME {room} {room} :why",
	"NICK {nick}", "AWAY :lunch", "AWAY", "SETNAME :Another Name", "NAMES {room}", "LIST <2", "WHO {room} %tcnuhraf,7", "WHOIS {nick}", "WHOWAS {nick}", "MONITOR + {nick},{nick}", "MONITOR S",
	"MONITOR C", "METADATA {who} SET {key} :value", "METADATA {who} SET {key}", "METADATA {who} CLEAR", "METADATA {who} LIST", "METADATA * SUB {key} url", "METADATA * UNSUB {key}", "METADATA {who} SYNC",
	"CHATHISTORY LATEST {room} * 10", "CHATHISTORY BEFORE {room} msgid={msgid} 5", "CHATHISTORY AROUND {nick} msgid={msgid} 5", "CHATHISTORY TARGETS timestamp=2020-01-01T00:00:00.000Z timestamp=2100-01-01T00:00:00.000Z 9",
	"MARKREAD {room}", "MARKREAD {room} timestamp=2100-01-01T00:00:00.000Z", "BATCH +1 draft/multiline {room}", "@batch=1 PRIVMSG {room} :a line", "@batch=1;draft/multiline-concat PRIVMSG {room} :of several", "BATCH -1",
	"CAP REQ :{cap}", "CAP REQ :-{cap}", "CAP LS 302", "CAP END", "PASS ann:correct-horse", "OPER ann correct-horse", "KILL {nick} :enough", "REGISTER * * correct-horse", "LUSERS", "STATS u", "HELP", "SEARCH text=a;in={room}", "SEARCH :text=hello\\sfrom:{nick};limit=3", "SEARCH hello from:{nick}", "FILEHOST TOKEN", "UPLOAD", "QUIT :done",
}

var slots = map[string][]string{
	"{room}": {"#a", "#b", "#A", "#c"}, "{nick}": {"ann", "bob", "cid", "ann0", "bob0", "cid0", "ann1", "bob1", "nobody"}, "{who}": {"*", "#a", "#b", "ann", "bob0"}, "{key}": {"url", "avatar", "mood"},
	"{cap}": {"echo-message", "labeled-response", "message-tags", "batch", "server-time", "draft/multiline", "draft/chathistory", "draft/metadata-2", "draft/channel-rename", "extended-join", "draft/read-marker", "extended-monitor", "draft/search", "soju.im/search"},
}

var slot = regexp.MustCompile(`\{[a-z]+\}`)

func randomLine(t *rapid.T, msgid string) string {
	switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case kind > 2:
		return slot.ReplaceAllStringFunc(rapid.SampledFrom(legalLines).Draw(t, "line"), func(name string) string {
			if name == "{msgid}" {
				return msgid
			}
			return rapid.SampledFrom(slots[name]).Draw(t, name)
		})
	case kind == 0 && rapid.Bool().Draw(t, "rubbish"):
		return strings.NewReplacer("\n", "", "\r", "").Replace(string(rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(t, "bytes")))
	}
	line := rapid.SampledFrom(someTags).Draw(t, "tags") + rapid.SampledFrom(someCommands).Draw(t, "command")
	for range rapid.IntRange(0, 4).Draw(t, "params") {
		line += " " + rapid.SampledFrom(someParams).Draw(t, "param")
	}
	return line
}

// stepsPerRun is the average number of lines sent to one server.
const stepsPerRun = 200

// TestRandomLinesKeepEverythingConsistent sends servers some thousand random lines, most of them
// valid. WEIR_CHAT_STEPS=1000000 makes it a million.
func TestRandomLinesKeepEverythingConsistent(t *testing.T) {
	steps := testsize.Of(t, "WEIR_CHAT_STEPS", 4000)
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	checks.Value.Set(itoa(max(1, steps/stepsPerRun)))
	defer checks.Value.Set(before)
	rapid.Check(t, func(rt *rapid.T) {
		s := newServer(t, Options{Registration: account.RegistrationOpen, CommandsPerSecond: 500})
		s.random = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		x := &randomTalk{rt: rt, msgid: "aaaaaaaa-0", s: s}
		s.account("ann", "correct-horse", account.Operator)
		s.run()
		defer s.halt()
		for range rapid.IntRange(stepsPerRun/2, stepsPerRun*3/2).Draw(rt, "steps") {
			x.step()
		}
		x.leave()
	})
}

// randomTalk drives three clients with random input.
type randomTalk struct {
	rt      *rapid.T
	s       *server
	clients [3]*client
	msgid   string // of the last line that had one
}

func (x *randomTalk) step() {
	names := [3]string{"ann", "bob", "cid"}
	i := rapid.IntRange(0, 2).Draw(x.rt, "who")
	switch c := x.clients[i]; {
	case c == nil:
		c = x.s.client(names[i])
		x.clients[i] = c
		if rapid.IntRange(0, 3).Draw(x.rt, "account") == 0 {
			c.send("PASS ann@" + names[i] + ":correct-horse")
		}
		c.send(fmt.Sprintf("NICK %s%d", names[i], rapid.IntRange(0, 1).Draw(x.rt, "nick")), "USER u 0 * :U")
	case rapid.IntRange(0, 40).Draw(x.rt, "leave") == 0:
		c.hangUp()
		x.clients[i] = nil
		return
	default:
		c.raw(randomLine(x.rt, x.msgid) + "\r\n")
	}
	if !x.stillThere(x.clients[i]) {
		x.clients[i] = nil
	}
	fault := x.s.chat.fault()
	if fault != "" {
		x.rt.Fatal(fault)
	}
}

// leave disconnects all clients and checks that no state of them is left.
func (x *randomTalk) leave() {
	for _, c := range x.clients {
		if c != nil {
			c.hangUp()
		}
	}
	chat := x.s.chat
	x.s.chat.waitFor(func() bool { return chat.Counts().Sessions == 0 })
	chat.clock = chat.clock.Add(time.Hour) // all rate limits have expired
	chat.withLock(func() {
		chat.removeExpiredLimits()
		if n := len(chat.users) + len(chat.networks) + len(chat.monitors); n > 0 {
			x.rt.Fatalf("after all clients left: got %d users, %d networks and %d monitored nicks, want 0", len(chat.users), len(chat.networks), len(chat.monitors))
		}
	})
}

// stillThere waits until the server has handled all input, checks each line that it sends, and
// reports whether the connection is open.
func (x *randomTalk) stillThere(c *client) bool {
	c.raw("PING :synced?\r\n")
	for {
		line, ok := c.line()
		if !ok {
			return false
		}
		if strings.HasSuffix(line, "PONG weir.chat :synced?") {
			return true
		}
		m, err := ircmsg.ParseLine(line)
		if err != nil || m.Command == "" || len(m.Params) > 15 || strings.ContainsAny(line, "\x00\r") || !utf8.ValidString(line) {
			x.rt.Fatalf("%s received %q, want a valid line: %v", c.name, line, err)
		}
		if ok, id := m.GetTag("msgid"); ok {
			x.msgid = id
		}
	}
}

// stillThere waits until the server has handled all input and reports whether the connection is
// open.
func (c *client) stillThere() bool {
	c.raw("PING :synced?\r\n")
	for {
		line, ok := c.line()
		if !ok || strings.HasSuffix(line, "PONG weir.chat :synced?") {
			return ok
		}
	}
}

// fault returns an inconsistency of the data structures, "" if there is none.
func (s *shell) fault() string {
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
			if session.user != u || session.registration != nil {
				return "a session of " + u.nick + " belongs to another user"
			}
		}
	}
	if sessions+s.unregisteredCount != s.sessionCount {
		return fmt.Sprintf("%d sessions of users and %d others are not %d", sessions, s.unregisteredCount, s.sessionCount)
	}
	for key, r := range s.rooms {
		if why := r.fault(s); why != "" {
			return r.name + ": " + why
		}
		if key != irc.Fold(r.name) || slices.Contains(r.formerNames, key) {
			return fmt.Sprintf("%s is found as %s, and was called %q", r.name, key, r.formerNames)
		}
	}
	for nick, sessions := range s.monitors {
		for session := range sessions {
			if !slices.Contains(session.monitored, nick) || session.user == nil {
				return "a session watches " + nick + " and does not know"
			}
		}
	}
	return ""
}

func (r *room) fault(s *shell) string {
	subs := 0
	if len(r.metadata) > maxMetadataKeys || len(r.bans) > maxBans || r.renaming {
		return fmt.Sprintf("%d keys, %d bans, being renamed: %v", len(r.metadata), len(r.bans), r.renaming)
	}
	for u, m := range r.members {
		if u.rooms[r] != m || s.users[irc.Fold(u.nick)] != u {
			return u.nick + " is a member and does not know"
		}
		for _, session := range u.sessions {
			if r.subscriptionOf(session) == nil {
				return "a session of " + u.nick + " has no subscription"
			}
			subs++
		}
	}
	if subs != len(r.subscriptions) {
		return fmt.Sprintf("%d subscriptions for %d sessions", len(r.subscriptions), subs)
	}
	return ""
}
