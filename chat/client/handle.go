package client

import (
	"strconv"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// handlers maps the commands of the server to their handlers. It is initialized in init because
// handlers refer to it.
var handlers map[string]func(*Client, *ircmsg.Message, time.Time)

func init() {
	handlers = map[string]func(*Client, *ircmsg.Message, time.Time){
		"CAP": (*Client).onCap, "AUTHENTICATE": (*Client).onAuthenticate, "900": (*Client).onLoggedIn, "903": (*Client).onLoginDone,
		"902": (*Client).onLoginFailed, "904": (*Client).onLoginFailed, "905": (*Client).onLoginFailed, "906": (*Client).onLoginFailed,
		"908": ignore, "001": (*Client).onWelcome, "005": (*Client).onISupport, "376": (*Client).onReady, "422": (*Client).onReady,
		"432": (*Client).onNickRefused, "433": (*Client).onNickRefused, "436": (*Client).onNickRefused,
		"ERROR": (*Client).onError, "PING": (*Client).onPing, "PONG": ignore,

		"JOIN": (*Client).onJoin, "PART": (*Client).onPart, "KICK": (*Client).onKick, "QUIT": (*Client).onQuit, "NICK": (*Client).onNick,
		"TOPIC": (*Client).onTopic, "331": (*Client).onTopicIs, "332": (*Client).onTopicIs, "333": ignore, "353": (*Client).onNames, "366": (*Client).onNamesEnd,
		"MODE": (*Client).onMode, "RENAME": (*Client).onRename,

		"PRIVMSG": (*Client).onMessage, "NOTICE": (*Client).onMessage, "TAGMSG": (*Client).onTagMessage, "REDACT": (*Client).onRedact,
		"BATCH": (*Client).onBatch, "REGISTER": (*Client).onRegister, "FILEHOST": (*Client).onFileHost, "MARKREAD": (*Client).onMarkRead, "FAIL": (*Client).onFail, "WARN": (*Client).onNote, "NOTE": (*Client).onNote,
		"CHATHISTORY": (*Client).onHistoryTarget,

		"ACCOUNT": ignore, "AWAY": ignore, "CHGHOST": ignore, "SETNAME": ignore, "METADATA": ignore,
		"002": ignore, "003": ignore, "004": ignore, "221": ignore, "250": ignore, "251": ignore, "252": ignore, "253": ignore, "254": ignore, "255": ignore,
		"265": ignore, "266": ignore, "315": ignore, "318": ignore, "323": ignore, "329": ignore, "369": ignore, "375": ignore, "321": ignore,
	}
	for _, code := range []string{"401", "404", "412"} {
		handlers[code] = (*Client).onMessageRefused
	}
	for _, code := range []string{"403", "405", "471", "473", "474", "475", "476", "477"} {
		handlers[code] = (*Client).onJoinRefused
	}
}

func ignore(*Client, *ircmsg.Message, time.Time) {}

// showUnhandled emits an event for a message without a handler: a reply to a command of the user,
// or an error numeric.
func (c *Client) showUnhandled(m *ircmsg.Message) {
	if n, err := strconv.Atoi(m.Command); err != nil || len(m.Params) < 2 {
		return
	} else if text := strings.Join(m.Params[1:], " "); n >= 400 && n < 600 {
		c.emit(Event{Kind: CommandFailed, Text: text, Conversation: c.lookup(m.Params[1])})
	} else {
		c.emit(Event{Kind: ServerText, Text: text})
	}
}

// onMessageRefused handles CODE NICK TARGET :TEXT.
func (c *Client) onMessageRefused(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) >= 2 {
		if v := c.lookup(m.Params[1]); v != nil {
			c.dropRefused(v)
		}
	}
	c.showUnhandled(m)
}

// onFail handles a standard reply: FAIL COMMAND CODE [CONTEXT...] :TEXT.
func (c *Client) onFail(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 3 {
		return
	}
	if m.Params[0] == "CHATHISTORY" {
		c.onHistoryFailed(m)
		return
	}
	if m.Params[0] == "MARKREAD" {
		return
	}
	if m.Params[0] == "REGISTER" {
		c.pendingPassword = ""
	}
	c.emit(Event{Kind: CommandFailed, Text: lastParam(m), Command: m.Params[0]})
}

func (c *Client) onNote(m *ircmsg.Message, _ time.Time) {
	c.emit(Event{Kind: ServerText, Text: lastParam(m)})
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
