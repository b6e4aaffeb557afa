package client

import (
	"slices"
	"strings"
	"time"
)

// maxMessages is how many messages a conversation keeps, of at most maxConversations.
const (
	maxMessages      = 20_000
	maxConversations = 1000
	maxUnsent        = 100
)

// Conversation is a room, or what is said with one person.
type Conversation struct {
	Name     string // in the server's spelling
	Room     bool
	Joined   bool // the client is in the room now; of a person: always
	Topic    string
	Members  []Member  // of a room, by rank and name
	Messages []Message // in the server's order; contiguous, but where one says otherwise
	Complete bool      // there is nothing older than the first message
	Loading  bool      // older messages were asked for
	Read     time.Time // messages up to this time were read
	Unread   int       // messages of others after Read
	Mentions int       // of these, that name the client; all, of a person

	wanted bool // to be joined when there is a connection
	key    string
	mine   bool // this client asked for it, and is told so when it is there

	first, last string          // msgids of the ends of what is stored of Messages
	begun       bool            // the first page was there
	known       map[string]bool // msgids and tags of Messages
	asked       request
	later       []Message // came live while asked is After or Latest
	unsent      []unsent
	reactions   map[string][]reaction // by the id of their message
	names       []Member              // of a list that is coming in
	marked      bool                  // the server said how far it was read
	moved       bool                  // Read is to be told the server
}

// Member is somebody in a room.
type Member struct {
	Nick   string
	Prefix string // of his ranks, the highest first: "@", "+", "@+", ""
}

// unsent is an own message that was not echoed yet.
type unsent struct {
	nonce, text string
	reply       string // msgid that it answers
	kind        MessageKind
	sent        bool // on this connection
	before      bool // on an earlier one
}

// Conversations are all, in the order in which they were opened. The slice is the client's.
func (c *Client) Conversations() []*Conversation { return c.conversations }

// Find is the conversation of a name, nil if there is none.
func (c *Client) Find(name string) *Conversation { return c.byName[c.fold(name)] }

// named is Find for handlers: names come from the network.
func (c *Client) named(name string) *Conversation { return c.byName[c.fold(name)] }

// conversation is the one of a name, opened if there is none; nil when there are too many.
func (c *Client) conversation(name string) *Conversation {
	if conv := c.named(name); conv != nil {
		return conv
	}
	if name == "" || len(c.conversations) >= maxConversations {
		return nil
	}
	conv := &Conversation{Name: name, Room: c.isRoom(name), known: map[string]bool{}}
	conv.Joined = !conv.Room
	c.conversations = append(c.conversations, conv)
	c.byName[c.fold(name)] = conv
	return conv
}

// Open is the conversation with a person, begun if there is none.
func (c *Client) Open(nick string) *Conversation {
	conv := c.named(nick)
	if conv == nil {
		if conv = c.conversation(nick); conv != nil {
			c.emit(Event{Kind: Opened, Conversation: conv, Mine: true})
			c.catchUp(conv)
		}
	}
	return conv
}

func (c *Client) forget(conv *Conversation) {
	c.conversations = slices.DeleteFunc(c.conversations, func(o *Conversation) bool { return o == conv })
	delete(c.byName, c.fold(conv.Name))
	c.emit(Event{Kind: Closed, Conversation: conv})
}

// lost forgets what belongs to a connection. What came live behind a gap is dropped: it will be in
// the history.
func (v *Conversation) lost() {
	v.Joined, v.Members, v.names = !v.Room, nil, nil
	v.asked, v.later, v.Loading = none, nil, false
	for i := range v.unsent {
		v.unsent[i].before = v.unsent[i].before || v.unsent[i].sent
		v.unsent[i].sent = false
	}
}

// Unsent are the texts that were said and not acknowledged yet.
func (v *Conversation) Unsent() []string {
	var texts []string
	for _, u := range v.unsent {
		texts = append(texts, u.text)
	}
	return texts
}

// Member finds a member; -1 if there is none.
func (c *Client) member(v *Conversation, nick string) int {
	return slices.IndexFunc(v.Members, func(m Member) bool { return c.same(m.Nick, nick) })
}

const ranks = "~&@%+"

func (c *Client) sortMembers(members []Member) {
	slices.SortStableFunc(members, func(a, b Member) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(c.fold(a.Nick), c.fold(b.Nick))
	})
}

func rank(m Member) int {
	if m.Prefix == "" {
		return len(ranks)
	}
	return strings.IndexByte(ranks, m.Prefix[0])
}

// MarkRead says that a conversation was read to its end.
func (c *Client) MarkRead(v *Conversation) {
	v.Unread, v.Mentions = 0, 0
	if n := len(v.Messages); n > 0 && v.Messages[n-1].Time.After(v.Read) {
		v.Read, v.moved = v.Messages[n-1].Time, true
	}
}

// sendMarks tells the server how far was read, at most once a tick.
func (c *Client) sendMarks() {
	if c.state != Online || c.account == "" || !c.caps["draft/read-marker"] {
		return
	}
	for _, v := range c.conversations {
		if v.moved && v.Joined {
			v.moved = false
			c.send("MARKREAD", v.Name, "timestamp="+stamp(v.Read))
		}
	}
}

// count counts what was not read.
func (v *Conversation) count() {
	v.Unread, v.Mentions = 0, 0
	for i := len(v.Messages) - 1; i >= 0 && v.Messages[i].Time.After(v.Read); i-- {
		v.countOne(&v.Messages[i])
	}
}

func (v *Conversation) countOne(m *Message) {
	if !m.Own && m.Kind != Happened && m.Time.After(v.Read) {
		v.Unread++
		if m.Mention || !v.Room {
			v.Mentions++
		}
	}
}
