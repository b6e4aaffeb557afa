package client

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// Config says who connects. It must not be changed after New.
type Config struct {
	Nick     string // preferred nick
	RealName string // real name (RFC 2812, section 3.1.3); default Nick

	Account  string // account to log in to, NAME or NAME@DEVICE; "" for none
	Password string // password of Account
	// Allow SASL PLAIN if the server does not offer SCRAM. The server then sees the password: set
	// it only for TLS or loopback connections.
	AllowPlain bool
	// Log in with SASL EXTERNAL: the TLS client certificate identifies Account, without a password.
	External bool

	Rooms []string // rooms to join at first: "#room" or "#room key"

	// A random string of 1 to 16 characters a-z and 0-9, different for every New. It identifies
	// this client's messages.
	Nonce      string
	ScramNonce func() string // generates SCRAM nonces, for tests; nil means random
}

// State is the state of the connection.
type State int

// States of the connection.
const (
	Offline     State = iota // not connected
	Registering              // connected, but not welcomed (001) yet
	Online                   // registered
	Failed                   // connecting again would fail in the same way; see Client.Reason
)

func (s State) String() string { return [...]string{"offline", "registering", "online", "failed"}[s] }

// Timeouts of a silent connection.
const (
	pingInterval = 60 * time.Second // a PING is sent after this much silence
	pongTimeout  = 30 * time.Second // the connection is closed if no PONG follows within this time
)

// Client is the state machine of one client. It is not safe for concurrent use.
type Client struct {
	config Config

	state    State
	reason   string
	nick     string
	account  string // account that the client is logged in to; "" if none
	network  string
	fileHost string // upload URL (FILEHOST); "" if the server accepts no files
	fold     func(string) string

	grantedCaps  map[string]bool   // capabilities that the server acknowledged
	offeredCaps  map[string]string // capabilities that the server offers, with their values
	capEndSent   bool              // CAP END was sent
	saslState    *saslExchange
	nickAttempts int // number of nicks that were refused

	lastReceived time.Time
	pingSentAt   time.Time // zero if no PING is outstanding
	mustClose    bool

	conversations   []*Conversation
	byName          map[string]*Conversation
	batches         map[string]*batch
	pageSize        int // messages per CHATHISTORY request
	lastSeq         int // number of own messages and of Message.Seq
	quit            bool
	pendingPassword string // password of an account that REGISTER has requested

	output []byte
	events []Event
}

// New returns a client that is not connected.
func New(c Config) *Client {
	if c.RealName == "" {
		c.RealName = c.Nick
	}
	cl := &Client{config: c, nick: c.Nick, byName: map[string]*Conversation{}}
	cl.resetConnection()
	for _, room := range c.Rooms {
		name, key, _ := strings.Cut(room, " ")
		if cl.isRoom(name) {
			conv := cl.conversation(name)
			conv.joinWanted, conv.key = true, key
		}
	}
	return cl
}

// resetConnection discards the state of the last connection.
func (c *Client) resetConnection() {
	c.grantedCaps, c.offeredCaps, c.batches = map[string]bool{}, map[string]string{}, map[string]*batch{}
	c.saslState, c.capEndSent, c.nickAttempts, c.mustClose, c.output = nil, false, 0, false, nil
	c.pingSentAt, c.fold, c.pageSize, c.account = time.Time{}, foldRFC, defaultPage, ""
}

// Connected reports that a connection is established.
func (c *Client) Connected(now time.Time) {
	c.resetConnection()
	c.state, c.lastReceived, c.reason = Registering, now, ""
	c.nick = c.config.Nick
	c.startRegistration()
	c.emit(Event{Kind: StateChanged})
}

// Disconnected reports that the connection ended, with its error or nil.
func (c *Client) Disconnected(err error) {
	c.resetConnection()
	for _, conv := range c.conversations {
		conv.disconnected()
	}
	if c.state != Failed {
		c.state = Offline
		if c.reason == "" && err != nil {
			c.reason = err.Error()
			if errors.Is(err, io.EOF) {
				c.reason = "the server closed the connection"
			}
		}
	}
	c.emit(Event{Kind: StateChanged, Text: c.reason})
}

// HandleLine processes one line from the server, with or without its CR LF. Invalid lines are
// ignored.
func (c *Client) HandleLine(line string, now time.Time) {
	c.lastReceived, c.pingSentAt = now, time.Time{}
	if c.state == Offline || c.state == Failed {
		return
	}
	m, err := ircmsg.ParseLine(strings.TrimRight(line, "\r\n"))
	if err != nil {
		return
	}
	if c.collect(&m) {
		return
	}
	if handle := handlers[strings.ToUpper(m.Command)]; handle != nil {
		handle(c, &m, now)
		return
	}
	c.showUnhandled(&m)
}

// Tick must be called about once a second.
func (c *Client) Tick(now time.Time) {
	switch {
	case c.state == Offline || c.state == Failed:
		return
	case !c.pingSentAt.IsZero() && now.Sub(c.pingSentAt) >= pongTimeout:
		c.mustClose, c.reason = true, "the server does not answer"
	case c.pingSentAt.IsZero() && now.Sub(c.lastReceived) >= pingInterval:
		c.pingSentAt = now
		c.send("PING", strconv.FormatInt(now.Unix(), 10))
	}
	c.sendReadMarkers()
}

// Output returns the bytes to send since the last call. The caller owns them.
func (c *Client) Output() []byte {
	out := c.output
	c.output = nil
	return out
}

// Events returns the events since the last call.
func (c *Client) Events() []Event {
	events := c.events
	c.events = nil
	return events
}

// MustClose reports whether the connection must be closed: it is dead, or the server cannot be
// trusted.
func (c *Client) MustClose() bool { return c.mustClose }

// State returns the state of the connection.
func (c *Client) State() State { return c.state }

// Reason returns why the client is offline or failed, in lower case without a period; "" if
// unknown.
func (c *Client) Reason() string { return c.reason }

// Nick returns the client's current nick.
func (c *Client) Nick() string { return c.nick }

// Account returns the account that the client is logged in to, or "".
func (c *Client) Account() string { return c.account }

// Network returns the name of the network, "" while it is unknown.
func (c *Client) Network() string { return c.network }

// FileHost returns the URL for uploads, "" if the server accepts none.
func (c *Client) FileHost() string { return c.fileHost }

// RequestUploadToken requests a token for the upload of one file. The answer is an event of kind
// UploadToken, or of CommandFailed with the Command "FILEHOST".
func (c *Client) RequestUploadToken() {
	if c.state != Online {
		c.emit(Event{Kind: CommandFailed, Text: "not connected", Command: "FILEHOST"})
		return
	}
	c.send("FILEHOST", "TOKEN")
}

// onFileHost handles FILEHOST TOKEN TEXT.
func (c *Client) onFileHost(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) == 2 && m.Params[0] == "TOKEN" {
		c.emit(Event{Kind: UploadToken, Text: m.Params[1]})
	}
}

// Has reports whether the server granted a capability.
func (c *Client) Has(capability string) bool { return c.grantedCaps[capability] }

// IsOwn reports whether nick is the client's own.
func (c *Client) IsOwn(nick string) bool { return c.sameName(nick, c.nick) }

func (c *Client) sameName(a, b string) bool { return c.fold(a) == c.fold(b) }

func (c *Client) isRoom(name string) bool { return name != "" && strings.IndexByte("#&", name[0]) >= 0 }

// fail stops the client: it does not connect again.
func (c *Client) fail(why string) {
	c.state, c.reason, c.mustClose = Failed, why, true
	c.emit(Event{Kind: StateChanged, Text: why})
}

// send queues a line. Parameters are cut at a line break, so user input cannot contain a second
// command.
func (c *Client) send(command string, params ...string) { c.sendTagged(nil, command, params...) }

func (c *Client) sendTagged(tags map[string]string, command string, params ...string) {
	for i, p := range params {
		if end := strings.IndexAny(p, "\r\n\x00"); end >= 0 {
			params[i] = p[:end]
		}
	}
	m := ircmsg.MakeMessage(tags, "", command, params...)
	line, err := m.LineBytes()
	if err != nil {
		c.emit(Event{Kind: CommandFailed, Text: command + " was not sent: a parameter is empty or contains a space"})
		return
	}
	c.output = append(c.output, line...)
}

// foldASCII and foldRFC fold names by the server's CASEMAPPING (RFC 2812, section 2.2): names with
// equal folds are the same.
func foldASCII(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

func foldRFC(name string) string {
	return strings.NewReplacer("[", "{", "]", "}", `\`, "|", "~", "^").Replace(foldASCII(name))
}
