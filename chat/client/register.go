package client

import (
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// wanted are the capabilities that are asked for where they are on offer.
var wanted = []string{
	"message-tags", "server-time", "batch", "echo-message", "account-tag", "multi-prefix", "cap-notify", "sasl", "setname",
	"draft/chathistory", "draft/event-playback", "draft/read-marker", "draft/message-redaction",
	"draft/account-registration", "draft/search",
}

// register begins a registration: capabilities first, so that the server waits for the login.
func (c *Client) register() {
	c.send("CAP", "LS", "302")
	c.send("NICK", c.nick)
	c.send("USER", userName(c.config.Nick), "0", "*", c.config.Real)
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
			c.offered[name] = value
		}
		if len(m.Params) == 3 { // else "*", and another line follows
			c.request()
		}
	case "ACK":
		for word := range strings.FieldsSeq(list) {
			name, off := strings.CutPrefix(word, "-")
			c.caps[name] = !off
		}
		c.negotiated()
	case "NAK":
		c.negotiated()
	case "DEL":
		for name := range strings.FieldsSeq(list) {
			delete(c.caps, name)
			delete(c.offered, name)
		}
	}
}

// request asks for what is wanted, on offer and not there.
func (c *Client) request() {
	var names []string
	for _, name := range wanted {
		if _, ok := c.offered[name]; ok && !c.caps[name] {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		c.send("CAP", "REQ", strings.Join(names, " "))
		return
	}
	c.negotiated()
}

// negotiated goes on behind the capabilities: with the login, if there is one to do.
func (c *Client) negotiated() {
	switch {
	case c.state != Registering || c.sasl != nil || c.ending:
	case c.config.Account == "":
		c.endCap()
	case !c.caps["sasl"]:
		c.fail("the server has no SASL: it can't be logged in to")
	default:
		c.logIn()
	}
}

func (c *Client) endCap() {
	if !c.ending {
		c.ending = true
		c.send("CAP", "END")
	}
}

func (c *Client) onWelcome(m *ircmsg.Message, _ time.Time) {
	if c.state != Registering || len(m.Params) == 0 {
		return
	}
	if c.config.Account != "" && c.account == "" {
		c.fail("the server let us in without the login that was asked for")
		return
	}
	c.state, c.nick = Online, m.Params[0]
	c.emit(Event{Kind: StateChanged})
}

// onReady is the end of the welcome, and of 005: the rooms are joined.
func (c *Client) onReady(_ *ircmsg.Message, now time.Time) {
	if c.state != Online {
		return
	}
	for _, conv := range c.conversations {
		if conv.wanted && !conv.Joined {
			c.sendJoin(conv)
		}
		if !conv.Room && c.account != "" {
			c.catchUp(conv)
		}
	}
	if c.account != "" && c.caps["draft/chathistory"] {
		c.send("CHATHISTORY", "TARGETS", stamp(now.AddDate(0, -1, 0)), stamp(now.AddDate(0, 0, 1)), "100")
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
			c.files = value
		case "CASEMAPPING":
			if value == "ascii" {
				c.refold(foldASCII)
			}
		case "CHATHISTORY", "draft/CHATHISTORY":
			if n := atoi(value); n > 0 {
				c.page = min(n, defaultPage)
			}
		}
	}
}

// refold names the conversations anew, when the server says how its names are compared.
func (c *Client) refold(fold func(string) string) {
	c.fold = fold
	clear(c.byName)
	for _, conv := range c.conversations {
		c.byName[fold(conv.Name)] = conv
	}
}

// maxTries is how many nicks are tried when they are taken.
const maxTries = 5

func (c *Client) onNickRefused(m *ircmsg.Message, _ time.Time) {
	if c.state != Registering {
		c.other(m)
		return
	}
	if c.tries++; c.tries > maxTries || m.Command == "432" {
		c.fail("the nick " + c.nick + " can't be had: " + last(m))
		return
	}
	c.nick += "_"
	c.send("NICK", c.nick)
}

func (c *Client) onError(m *ircmsg.Message, _ time.Time) { c.why = last(m) }

func (c *Client) onPing(m *ircmsg.Message, _ time.Time) { c.send("PONG", last(m)) }

func last(m *ircmsg.Message) string {
	if len(m.Params) == 0 {
		return ""
	}
	return m.Params[len(m.Params)-1]
}
