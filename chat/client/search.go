package client

import (
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// Found is a message that the server found.
type Found struct {
	Target  string // the room, or who the conversation is with
	Message Message
}

// searchLimit is how many messages are asked for at once.
const searchLimit = "100"

// CanSearch says whether the server searches.
func (c *Client) CanSearch() bool {
	return c.state == Online && c.caps["draft/search"] && c.caps["batch"]
}

// Search asks the server for messages with words in them: in a conversation, or in all if v is nil.
// An event of kind Searched answers.
func (c *Client) Search(v *Conversation, words string) {
	ask := "text=" + ircmsg.EscapeTagValue(words) + ";limit=" + searchLimit
	if v != nil {
		ask = "in=" + ircmsg.EscapeTagValue(v.Name) + ";" + ask
	}
	c.send("SEARCH", ask)
}

// searched takes what was found.
func (c *Client) searched(b *batch, now time.Time) {
	e := Event{Kind: Searched}
	for i := range b.lines {
		m := &b.lines[i]
		if msg, ok := c.read(m, now); ok && len(m.Params) > 0 {
			target := m.Params[0]
			if !c.isRoom(strings.TrimLeft(target, ranks)) && !msg.Own {
				target = msg.From
			}
			e.Found = append(e.Found, Found{target, msg})
		}
	}
	c.emit(e)
}

// Register makes an account of the client's nick, with an invite if the server wants one, and logs
// in to it from then on.
func (c *Client) Register(invite, password string) {
	switch {
	case c.state != Online:
		c.emit(Event{Kind: Trouble, Text: "there is no connection"})
	case c.account != "":
		c.emit(Event{Kind: Trouble, Text: "you are logged in to the account " + c.account})
	case password == "" || strings.ContainsAny(invite, " "):
		c.emit(Event{Kind: Trouble, Text: "an account needs a password, and an invite is one word"})
	default:
		if invite == "" {
			invite = "*"
		}
		c.wish = password
		c.send("REGISTER", "*", invite, password)
	}
}

// onRegister is REGISTER SUCCESS ACCOUNT :TEXT, or VERIFICATION_REQUIRED.
func (c *Client) onRegister(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) >= 2 && m.Params[0] == "SUCCESS" && c.wish != "" {
		c.config.Account, c.config.Nick, c.config.Password, c.wish = m.Params[1], m.Params[1], c.wish, ""
		c.emit(Event{Kind: Told, Text: "you have the account " + m.Params[1] + " now: come back with -a " + m.Params[1]})
		return
	}
	c.emit(Event{Kind: Told, Text: last(m)})
}
