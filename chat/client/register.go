package client

import (
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// wantedCaps are the capabilities that the client requests if the server offers them.
var wantedCaps = []string{
	"message-tags", "server-time", "batch", "echo-message", "account-tag", "multi-prefix", "cap-notify", "sasl", "setname",
	"draft/chathistory", "draft/event-playback", "draft/read-marker", "draft/message-redaction",
	"draft/account-registration", "draft/search",
}

// startRegistration starts the registration (RFC 2812, section 3.1). CAP LS comes first, so that
// the server waits for the login.
func (c *Client) startRegistration() {
	c.send("CAP", "LS", "302")
	c.send("NICK", c.nick)
	c.send("USER", userName(c.config.Nick), "0", "*", c.config.RealName)
}

func userName(nick string) string {
	name := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, nick)
	if name == "" {
		return "user"
	}
	return name
}

func (c *Client) onCap(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 3 {
		return
	}
	list := m.Params[len(m.Params)-1]
	switch strings.ToUpper(m.Params[1]) {
	case "LS", "NEW":
		for word := range strings.FieldsSeq(list) {
			name, value, _ := strings.Cut(word, "=")
			c.offeredCaps[name] = value
		}
		if len(m.Params) == 3 { // otherwise the third parameter is "*": more lines follow
			c.requestCaps()
		}
	case "ACK":
		for word := range strings.FieldsSeq(list) {
			name, off := strings.CutPrefix(word, "-")
			c.grantedCaps[name] = !off
		}
		c.afterCaps()
	case "NAK":
		c.afterCaps()
	case "DEL":
		for name := range strings.FieldsSeq(list) {
			delete(c.grantedCaps, name)
			delete(c.offeredCaps, name)
		}
	}
}

// requestCaps requests the capabilities that are wanted, offered and not yet granted.
func (c *Client) requestCaps() {
	var names []string
	for _, name := range wantedCaps {
		if _, ok := c.offeredCaps[name]; ok && !c.grantedCaps[name] {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		c.send("CAP", "REQ", strings.Join(names, " "))
		return
	}
	c.afterCaps()
}

// afterCaps continues the registration after capability negotiation, with the login if there is
// one.
func (c *Client) afterCaps() {
	switch {
	case c.state != Registering || c.saslState != nil || c.capEndSent:
	case c.config.Account == "":
		c.sendCapEnd()
	case !c.grantedCaps["sasl"]:
		c.fail("the server does not support SASL, so the account cannot log in")
	default:
		c.startLogin()
	}
}

func (c *Client) sendCapEnd() {
	if !c.capEndSent {
		c.capEndSent = true
		c.send("CAP", "END")
	}
}

func (c *Client) onWelcome(m *ircmsg.Message, _ time.Time) {
	if c.state != Registering || len(m.Params) == 0 {
		return
	}
	if c.config.Account != "" && c.account == "" {
		c.fail("the server completed the registration without the requested login")
		return
	}
	c.state, c.nick = Online, m.Params[0]
	c.emit(Event{Kind: StateChanged})
}

// onReady handles the end of the MOTD, after which all ISUPPORT (005) lines have arrived: it joins
// the rooms.
func (c *Client) onReady(_ *ircmsg.Message, now time.Time) {
	if c.state != Online {
		return
	}
	for _, conv := range c.conversations {
		if conv.joinWanted && !conv.Joined {
			c.sendJoin(conv)
		}
		if !conv.Room && c.account != "" {
			c.catchUp(conv)
		}
	}
	if c.account != "" && c.grantedCaps["draft/chathistory"] {
		c.send("CHATHISTORY", "TARGETS", formatTime(now.AddDate(0, -1, 0)), formatTime(now.AddDate(0, 0, 1)), "100")
	}
}

func (c *Client) sendJoin(conv *Conversation) {
	if conv.key != "" {
		c.send("JOIN", conv.Name, conv.key)
		return
	}
	c.send("JOIN", conv.Name)
}

func (c *Client) onISupport(m *ircmsg.Message, _ time.Time) {
	for _, token := range m.Params[min(1, len(m.Params)):] {
		name, value, _ := strings.Cut(token, "=")
		switch name {
		case "NETWORK":
			c.network = value
		case "draft/FILEHOST", "soju.im/FILEHOST":
			c.fileHost = value
		case "CASEMAPPING":
			if value == "ascii" {
				c.refold(foldASCII)
			}
		case "CHATHISTORY", "draft/CHATHISTORY":
			if n := atoi(value); n > 0 {
				c.pageSize = min(n, defaultPage)
			}
		}
	}
}

// refold changes the case mapping and rebuilds the index of conversations.
func (c *Client) refold(fold func(string) string) {
	c.fold = fold
	clear(c.byName)
	for _, conv := range c.conversations {
		c.byName[fold(conv.Name)] = conv
	}
}

// maxNickAttempts is the number of nicks that are tried if they are in use.
const maxNickAttempts = 5

func (c *Client) onNickRefused(m *ircmsg.Message, _ time.Time) {
	if c.state != Registering {
		c.showUnhandled(m)
		return
	}
	if c.nickAttempts++; c.nickAttempts > maxNickAttempts || m.Command == "432" {
		c.fail("the nick " + c.nick + " was refused: " + lastParam(m))
		return
	}
	c.nick += "_"
	c.send("NICK", c.nick)
}

func (c *Client) onError(m *ircmsg.Message, _ time.Time) { c.reason = lastParam(m) }

func (c *Client) onPing(m *ircmsg.Message, _ time.Time) { c.send("PONG", lastParam(m)) }

func lastParam(m *ircmsg.Message) string {
	if len(m.Params) == 0 {
		return ""
	}
	return m.Params[len(m.Params)-1]
}
