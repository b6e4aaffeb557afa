package client

import (
	"slices"
	"strings"
	"time"
)

// Limits of what the client stores: messages per conversation, conversations, and unsent messages
// per conversation.
const (
	maxMessages      = 20_000
	maxConversations = 1000
	maxUnsent        = 100
)

// Conversation is a room or a direct conversation with one user.
type Conversation struct {
	Name      string // as the server spells it
	Room      bool
	Joined    bool // the client is in the room now; always true for a direct conversation
	Topic     string
	Members   []Member  // members of a room, sorted by rank and name
	Messages  []Message // in the server's order, without gaps unless an EventMessage marks one
	AtStart   bool      // no message is older than the first one
	Loading   bool      // older messages have been requested
	ReadUntil time.Time // time up to which messages were read
	Unread    int       // number of other users' messages after ReadUntil
	// number of unread messages that mention the client; all of a direct conversation
	Mentions int

	joinWanted    bool // the room is joined again after a reconnect
	key           string
	joinRequested bool // the user requested a join that is not answered yet; see Event.Requested

	firstID, lastID string          // msgids of the first and last stored message
	firstPageLoaded bool            // the first page of history has arrived
	knownIDs        map[string]bool // msgids and nonces of Messages
	historyRequest  historyRequest  // request without a complete answer; noRequest: none
	held            []Message       // live messages received while a gap is being filled
	unsent          []unsent
	reactions       map[string][]reaction // by msgid of the message
	incomingMembers []Member              // of a NAMES reply in progress
	markerKnown     bool                  // the server has sent a read marker
	markerChanged   bool                  // ReadUntil must be sent to the server
	markerInFlight  bool                  // ReadUntil was sent, and the server has not confirmed it
}

// Member is a user in a room.
type Member struct {
	Nick   string
	Prefix string // prefixes of the member's ranks, highest first: "@", "+", "@+", ""
}

// delivery is the state of an own message that the server has not echoed yet.
type delivery int

const (
	queued   delivery = iota // not sent
	inFlight                 // sent on this connection
	// sent on an earlier connection: only the history shows whether it arrived
	uncertain
)

// unsent is an own message that the server has not echoed yet.
type unsent struct {
	nonce, text string
	nick        string // the client's when it was sent; the server may know it by another one now
	replyTo     string // msgid of the message that it replies to
	kind        MessageKind
	state       delivery
}

// Conversations returns all conversations in the order in which they were opened. The client owns
// the slice.
func (c *Client) Conversations() []*Conversation { return c.conversations }

// Find returns the conversation with a name, or nil.
func (c *Client) Find(name string) *Conversation { return c.byName[c.fold(name)] }

// lookup is Find for names from the network.
func (c *Client) lookup(name string) *Conversation { return c.byName[c.fold(name)] }

// conversation returns the conversation with a name and creates it if needed. It returns nil if
// there are maxConversations already, or the name is empty.
func (c *Client) conversation(name string) *Conversation {
	if conv := c.lookup(name); conv != nil {
		return conv
	}
	if name == "" || len(c.conversations) >= maxConversations {
		return nil
	}
	conv := &Conversation{Name: name, Room: c.isRoom(name), knownIDs: map[string]bool{}}
	conv.Joined = !conv.Room
	c.conversations = append(c.conversations, conv)
	c.byName[c.fold(name)] = conv
	return conv
}

// OpenDirect returns the direct conversation with a user and creates it if needed.
func (c *Client) OpenDirect(nick string) *Conversation {
	conv := c.lookup(nick)
	if conv == nil {
		if conv = c.conversation(nick); conv != nil {
			c.emit(Event{Kind: Opened, Conversation: conv, Requested: true})
			c.catchUp(conv)
		}
	}
	return conv
}

func (c *Client) closeConversation(conv *Conversation) {
	c.conversations = slices.DeleteFunc(c.conversations, func(o *Conversation) bool { return o == conv })
	delete(c.byName, c.fold(conv.Name))
	c.emit(Event{Kind: Closed, Conversation: conv})
}

// disconnected discards the state of the last connection. Live messages behind a gap are dropped:
// the history will contain them.
func (v *Conversation) disconnected() {
	v.Joined, v.Members, v.incomingMembers = !v.Room, nil, nil
	v.historyRequest, v.held, v.Loading = noRequest, nil, false
	v.markerChanged, v.markerInFlight = v.markerChanged || v.markerInFlight, false
	for i := range v.unsent {
		if v.unsent[i].state == inFlight {
			v.unsent[i].state = uncertain
		}
	}
}

// Unsent returns the texts that were sent but not acknowledged yet.
func (v *Conversation) Unsent() []string {
	var texts []string
	for _, u := range v.unsent {
		texts = append(texts, u.text)
	}
	return texts
}

// memberIndex returns the index of a member, -1 if there is none.
func (c *Client) memberIndex(v *Conversation, nick string) int {
	return slices.IndexFunc(v.Members, func(m Member) bool { return c.sameName(m.Nick, nick) })
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

// MarkRead marks all messages of a conversation as read.
func (c *Client) MarkRead(v *Conversation) {
	v.Unread, v.Mentions = 0, 0
	if n := len(v.Messages); n > 0 && v.Messages[n-1].Time.After(v.ReadUntil) {
		v.ReadUntil, v.markerChanged = v.Messages[n-1].Time, true
	}
}

// sendReadMarkers sends the changed read markers to the server.
func (c *Client) sendReadMarkers() {
	if c.state != Online || c.account == "" || !c.grantedCaps["draft/read-marker"] {
		return
	}
	for _, v := range c.conversations {
		if v.markerChanged && v.Joined {
			v.markerChanged, v.markerInFlight = false, true
			c.send("MARKREAD", v.Name, "timestamp="+formatTime(v.ReadUntil))
		}
	}
}

// recountUnread counts the unread messages.
func (v *Conversation) recountUnread() {
	v.Unread, v.Mentions = 0, 0
	for i := len(v.Messages) - 1; i >= 0 && v.Messages[i].Time.After(v.ReadUntil); i-- {
		v.countUnread(&v.Messages[i])
	}
}

func (v *Conversation) countUnread(m *Message) {
	if !m.Own && m.Kind != EventMessage && m.Time.After(v.ReadUntil) {
		v.Unread++
		if m.Mention || !v.Room {
			v.Mentions++
		}
	}
}
