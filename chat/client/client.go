package client

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// Config says who connects. It is not changed after New.
type Config struct {
	Nick string // that is asked for
	Real string // what others read about its owner; default Nick

	Account  string // to log in to, NAME or NAME@DEVICE; "" for none
	Password string // of Account
	// PLAIN may be used where there is no SCRAM: the server sees the password. Set it over TLS or
	// loopback alone
	Plain bool
	// the certificate that the connection shows to the server logs in to Account, and no password
	External bool

	Rooms []string // to join at first; "#room" or "#room key"

	// random, another for every New: makes this client's messages tell apart. 1 to 16 of a-z and
	// 0-9
	Nonce string
	Scram func() string // nonces of SCRAM; nil: random ones
}

// State is how far a connection is.
type State int

// The states.
const (
	Offline     State = iota // no connection
	Registering              // connected, and not welcomed yet
	Online
	Failed // connecting again would fail in the same way; see Client.Why
)

func (s State) String() string { return [...]string{"offline", "registering", "online", "failed"}[s] }

// Times of a silent connection.
const (
	askAfter  = 60 * time.Second // of silence, the server is asked
	deadAfter = 30 * time.Second // later, the connection is given up
)

// Client is the state. Its methods are called by one goroutine.
type Client struct {
	config Config

	state   State
	why     string
	nick    string
	account string // logged in as; "" if not
	network string
	files   string // where files are taken, "" for nowhere
	fold    func(string) string

	caps    map[string]bool   // that the server granted
	offered map[string]string // by the server, with values
	ending  bool              // CAP END was sent
	sasl    *login
	tries   int // nicks that were taken

	heard time.Time
	asked time.Time // zero: no PING is under way
	drop  bool

	conversations []*Conversation
	byName        map[string]*Conversation
	batches       map[string]*batch
	page          int // lines of one CHATHISTORY
	counter       int // of own messages
	quit          bool
	wish          string // the password of an account that was asked for

	out    []byte
	events []Event
}

// New is a client that is not connected.
func New(c Config) *Client {
	if c.Real == "" {
		c.Real = c.Nick
	}
	cl := &Client{config: c, nick: c.Nick, byName: map[string]*Conversation{}}
	cl.reset()
	for _, room := range c.Rooms {
		name, key, _ := strings.Cut(room, " ")
		if cl.isRoom(name) {
			conv := cl.conversation(name)
			conv.wanted, conv.key = true, key
		}
	}
	return cl
}

// reset forgets what belongs to one connection.
func (c *Client) reset() {
	c.caps, c.offered, c.batches = map[string]bool{}, map[string]string{}, map[string]*batch{}
	c.sasl, c.ending, c.tries, c.drop, c.out = nil, false, 0, false, nil
	c.asked, c.fold, c.page, c.account = time.Time{}, foldRFC, defaultPage, ""
}

// Connected says that a connection is up.
func (c *Client) Connected(now time.Time) {
	c.reset()
	c.state, c.heard, c.why = Registering, now, ""
	c.nick = c.config.Nick
	c.register()
	c.emit(Event{Kind: StateChanged})
}

// Lost says that the connection ended.
func (c *Client) Lost(err error) {
	c.reset()
	for _, conv := range c.conversations {
		conv.lost()
	}
	if c.state != Failed {
		c.state = Offline
		if c.why == "" && err != nil {
			c.why = err.Error()
			if errors.Is(err, io.EOF) {
				c.why = "the server closed the connection"
			}
		}
	}
	c.emit(Event{Kind: StateChanged, Text: c.why})
}

// Line takes one line of the server's, with or without its end. Lines that can't be read are passed
// over.
func (c *Client) Line(line string, now time.Time) {
	c.heard, c.asked = now, time.Time{}
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
	c.other(&m)
}

// Tick is called about once a second.
func (c *Client) Tick(now time.Time) {
	switch {
	case c.state == Offline || c.state == Failed:
		return
	case !c.asked.IsZero() && now.Sub(c.asked) >= deadAfter:
		c.drop, c.why = true, "the server does not answer"
	case c.asked.IsZero() && now.Sub(c.heard) >= askAfter:
		c.asked = now
		c.send("PING", strconv.FormatInt(now.Unix(), 10))
	}
	c.sendMarks()
}

// Output is what has to be sent, in order. It is the caller's, and asked for once.
func (c *Client) Output() []byte {
	out := c.out
	c.out = nil
	return out
}

// Events is what has happened since the last call.
func (c *Client) Events() []Event {
	events := c.events
	c.events = nil
	return events
}

// Drop says that the connection is to be closed: it is dead, or the server must not be trusted.
func (c *Client) Drop() bool { return c.drop }

// State is how far the connection is.
func (c *Client) State() State { return c.state }

// Why says in a sentence's end why the client is offline or failed; "" if that is not known.
func (c *Client) Why() string { return c.why }

// Nick is the client's name now.
func (c *Client) Nick() string { return c.nick }

// Account is what the client is logged in as, "" if it is not.
func (c *Client) Account() string { return c.account }

// Network is the network's name, "" while it is not known.
func (c *Client) Network() string { return c.network }

// FileHost is the URL to which files are sent, "" where the server takes none.
func (c *Client) FileHost() string { return c.files }

// AskToken asks for a token with which one file may be sent. An event of kind Token answers, or of
// Trouble with Command "FILEHOST".
func (c *Client) AskToken() {
	if c.state != Online {
		c.emit(Event{Kind: Trouble, Text: "there is no connection", Command: "FILEHOST"})
		return
	}
	c.send("FILEHOST", "TOKEN")
}

// onFileHost is FILEHOST TOKEN TEXT.
func (c *Client) onFileHost(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) == 2 && m.Params[0] == "TOKEN" {
		c.emit(Event{Kind: Token, Text: m.Params[1]})
	}
}

// Has says whether the server granted a capability.
func (c *Client) Has(capability string) bool { return c.caps[capability] }

// Own says whether a nick is the client's own.
func (c *Client) Own(nick string) bool { return c.same(nick, c.nick) }

func (c *Client) same(a, b string) bool { return c.fold(a) == c.fold(b) }

func (c *Client) isRoom(name string) bool { return name != "" && strings.IndexByte("#&", name[0]) >= 0 }

// fail ends all attempts.
func (c *Client) fail(why string) {
	c.state, c.why, c.drop = Failed, why, true
	c.emit(Event{Kind: StateChanged, Text: why})
}

// send adds a line to what has to be sent. Parameters are cut at a line's end: nothing that a user
// types is two commands.
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
		c.emit(Event{Kind: Trouble, Text: command + " was not sent: a name in it has a space or is empty"})
		return
	}
	c.out = append(c.out, line...)
}

// foldASCII and foldRFC map a name to what identifies it, by the server's CASEMAPPING.
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
