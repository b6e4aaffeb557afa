package client

import (
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// SearchResult is a message that matches a search.
type SearchResult struct {
	Target  string // the room, or the other user of a direct conversation
	Message Message
}

// searchLimit is the maximum number of results of a search.
const searchLimit = "100"

// CanSearch reports whether the server supports search.
func (c *Client) CanSearch() bool {
	return c.state == Online && c.grantedCaps["draft/search"] && c.grantedCaps["batch"]
}

// Search searches for messages with words: in a conversation, or in all of them if v is nil. The
// answer is an event of kind SearchResults.
func (c *Client) Search(v *Conversation, words string) {
	ask := "text=" + ircmsg.EscapeTagValue(words) + ";limit=" + searchLimit
	if v != nil {
		ask = "in=" + ircmsg.EscapeTagValue(v.Name) + ";" + ask
	}
	c.send("SEARCH", ask)
}

// onSearchBatch processes the results of a search.
func (c *Client) onSearchBatch(b *batch, now time.Time) {
	e := Event{Kind: SearchResults}
	for i := range b.lines {
		m := &b.lines[i]
		if msg, ok := c.parseMessage(m, now); ok && len(m.Params) > 0 {
			target := m.Params[0]
			if !c.isRoom(strings.TrimLeft(target, ranks)) && !msg.Own {
				target = msg.From
			}
			e.Results = append(e.Results, SearchResult{target, msg})
		}
	}
	c.emit(e)
}

// Register creates an account with the client's nick, with an invite if the server requires one.
// Later connections log in to it.
func (c *Client) Register(invite, password string) {
	switch {
	case c.state != Online:
		c.emit(Event{Kind: CommandFailed, Text: "not connected"})
	case c.account != "":
		c.emit(Event{Kind: CommandFailed, Text: "you are logged in to the account " + c.account})
	case password == "" || strings.ContainsAny(invite, " "):
		c.emit(Event{Kind: CommandFailed, Text: "an account needs a password, and an invite must not contain a space"})
	default:
		if invite == "" {
			invite = "*"
		}
		c.pendingPassword = password
		c.send("REGISTER", "*", invite, password)
	}
}

// onRegister handles REGISTER SUCCESS ACCOUNT :TEXT, and VERIFICATION_REQUIRED.
func (c *Client) onRegister(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) >= 2 && m.Params[0] == "SUCCESS" && c.pendingPassword != "" {
		c.config.Account, c.config.Nick, c.config.Password, c.pendingPassword = m.Params[1], m.Params[1], c.pendingPassword, ""
		c.emit(Event{Kind: ServerText, Text: "you have the account " + m.Params[1] + " now: come back with -a " + m.Params[1]})
		return
	}
	c.emit(Event{Kind: ServerText, Text: lastParam(m)})
}
