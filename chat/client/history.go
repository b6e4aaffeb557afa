package client

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// defaultPage is the default number of messages per request.
const defaultPage = 100

// historyRequest is the outstanding CHATHISTORY request of a conversation. There is at most one.
type historyRequest int

const (
	noRequest     historyRequest = iota
	latestRequest                // the newest messages
	afterRequest                 // the messages after the last stored one
	beforeRequest                // the messages before the first stored one
)

func (c *Client) hasHistory() bool {
	return c.grantedCaps["draft/chathistory"] && c.grantedCaps["batch"] && c.grantedCaps["message-tags"]
}

// catchUp requests the messages that are missing between the stored ones and the live ones. Live
// messages are held until they have arrived.
func (c *Client) catchUp(v *Conversation) {
	switch {
	case c.state != Online:
	case !c.hasHistory() || !v.Room && c.account == "":
		c.sendUnsent(v, false)
	case v.lastID == "" && v.firstPageLoaded: // the history was empty before: request everything
		c.requestHistory(v, afterRequest, "timestamp="+formatTime(time.Unix(0, 0)))
	case v.lastID == "":
		c.requestHistory(v, latestRequest, "*")
	default:
		c.requestHistory(v, afterRequest, "msgid="+v.lastID)
	}
}

// LoadOlder requests the messages before the first stored one. It does nothing if there are none or
// the server has no history.
func (c *Client) LoadOlder(v *Conversation) {
	if c.state == Online && v.Joined && v.historyRequest == noRequest && !v.AtStart && v.firstID != "" && c.hasHistory() {
		c.requestHistory(v, beforeRequest, "msgid="+v.firstID)
		v.Loading = true
	}
}

func (c *Client) requestHistory(v *Conversation, what historyRequest, point string) {
	v.historyRequest = what
	c.send("CHATHISTORY", [...]string{latestRequest: "LATEST", afterRequest: "AFTER", beforeRequest: "BEFORE"}[what], v.Name, point, strconv.Itoa(c.pageSize))
}

// batch is an incomplete batch.
type batch struct {
	kind, target string
	lines        []ircmsg.Message
}

// maxBatch is the maximum number of open batches, and of lines that are kept of each.
const maxBatch = 10_000

// collect adds a line to its batch. It reports whether the line belongs to one.
func (c *Client) collect(m *ircmsg.Message) bool {
	has, name := m.GetTag("batch")
	b := c.batches[name]
	if !has || b == nil || strings.EqualFold(m.Command, "BATCH") {
		return false
	}
	if len(b.lines) < maxBatch {
		b.lines = append(b.lines, *m)
	}
	return true
}

func (c *Client) onBatch(m *ircmsg.Message, now time.Time) {
	if len(m.Params) == 0 || len(m.Params[0]) < 2 {
		return
	}
	name := m.Params[0][1:]
	if m.Params[0][0] == '+' {
		if len(m.Params) >= 2 && len(c.batches) < maxBatch {
			b := &batch{kind: m.Params[1]}
			if len(m.Params) >= 3 {
				b.target = m.Params[2]
			}
			c.batches[name] = b
		}
		return
	}
	b := c.batches[name]
	delete(c.batches, name)
	switch {
	case b == nil:
	case b.kind == "chathistory":
		c.onHistoryBatch(b, now)
	case b.kind == "search":
		c.onSearchBatch(b, now)
	default: // a batch without a special meaning: handle its lines normally
		for i := range b.lines {
			if handle := handlers[b.lines[i].Command]; handle != nil && b.lines[i].Command != "BATCH" {
				handle(c, &b.lines[i], now)
			}
		}
	}
}

// onHistoryBatch processes the answer to a CHATHISTORY request.
func (c *Client) onHistoryBatch(b *batch, now time.Time) {
	v := c.lookup(b.target)
	if v == nil {
		return
	}
	var page []Message
	first, last := "", ""
	for i := range b.lines {
		_, id := b.lines[i].GetTag("msgid")
		if first == "" {
			first = id
		}
		if id != "" {
			last = id
		}
		if msg, ok := c.parseMessage(&b.lines[i], now); ok {
			page = append(page, msg)
		} else {
			c.addReaction(v, &b.lines[i])
		}
	}
	switch v.historyRequest {
	case beforeRequest:
		c.prependOlder(v, page, first)
	case afterRequest:
		asked := v.lastID
		c.appendMessages(v, page)
		if last != "" && last != asked { // only an empty page means that there are no more
			v.lastID = last
			c.requestHistory(v, afterRequest, "msgid="+last)
			return
		}
		c.finishCatchUp(v)
	case latestRequest:
		c.loadFirstPage(v, page, last)
	default: // an unrequested replay
		c.appendMessages(v, page)
	}
}

func (c *Client) appendMessages(v *Conversation, page []Message) {
	for _, msg := range page {
		c.addMessage(v, msg)
	}
}

// loadFirstPage processes the first page of a conversation. Its messages count as read, unless the
// server has sent a read marker.
func (c *Client) loadFirstPage(v *Conversation, page []Message, last string) {
	// If more live messages were held than a page has, the oldest of them precede the page.
	if at := slices.IndexFunc(v.held, func(m Message) bool { return m.ID != "" && containsID(page, m.ID) }); at > 0 {
		c.appendMessages(v, v.held[:at])
		v.held = v.held[at:]
	}
	c.appendMessages(v, page)
	v.firstPageLoaded = true
	if last != "" {
		v.lastID = last
	} else if len(v.Messages) == 0 {
		v.AtStart = true
	}
	if n := len(page); n > 0 && !v.markerKnown {
		v.ReadUntil = page[n-1].Time
		v.recountUnread()
	}
	c.finishCatchUp(v)
}

func containsID(page []Message, id string) bool {
	return slices.ContainsFunc(page, func(m Message) bool { return m.ID == id })
}

// prependOlder adds a page of older messages.
func (c *Client) prependOlder(v *Conversation, page []Message, first string) {
	v.historyRequest, v.Loading = noRequest, false
	page = slices.DeleteFunc(page, func(m Message) bool { return !v.remember(&m) })
	v.Messages = append(page, v.Messages...)
	if first == "" || first == v.firstID {
		v.AtStart = true
	} else {
		v.firstID = first
	}
	v.recountUnread()
	c.emit(Event{Kind: Changed, Conversation: v})
}

// finishCatchUp ends the filling of a gap. It appends the held messages and resends own messages
// that are not in the history.
func (c *Client) finishCatchUp(v *Conversation) {
	waited := v.held
	v.historyRequest, v.held = noRequest, nil
	c.appendMessages(v, waited)
	c.sendUnsent(v, true)
	c.emit(Event{Kind: Changed, Conversation: v})
}

// onHistoryFailed handles FAIL CHATHISTORY CODE KIND TARGET :TEXT.
func (c *Client) onHistoryFailed(m *ircmsg.Message) {
	if len(m.Params) < 5 {
		return
	}
	v := c.lookup(m.Params[3])
	if v == nil {
		return
	}
	switch v.historyRequest {
	case afterRequest:
		// The message was removed, or another room has taken this name.
		if m.Params[1] == "INVALID_MSGREFTYPE" || m.Params[1] == "INVALID_PARAMS" {
			c.addMessage(v, Message{Seq: c.nextSeq(), Time: v.lastMessageTime(), Kind: EventMessage, Text: "messages may be missing here"})
			v.lastID, v.firstPageLoaded = "", false
			c.requestHistory(v, latestRequest, "*")
			return
		}
		c.finishCatchUp(v)
	case latestRequest:
		c.finishCatchUp(v)
	case beforeRequest:
		v.historyRequest, v.Loading, v.AtStart = noRequest, false, true
		c.emit(Event{Kind: Changed, Conversation: v})
	}
}

func (v *Conversation) lastMessageTime() time.Time {
	if n := len(v.Messages); n > 0 {
		return v.Messages[n-1].Time
	}
	return time.Time{}
}

// onHistoryTarget handles CHATHISTORY TARGETS NAME TIME: a conversation that has messages.
func (c *Client) onHistoryTarget(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 2 || m.Params[0] != "TARGETS" || c.isRoom(m.Params[1]) || c.lookup(m.Params[1]) != nil {
		return
	}
	if v := c.conversation(m.Params[1]); v != nil {
		c.emit(Event{Kind: Opened, Conversation: v})
		c.catchUp(v)
	}
}

// onMarkRead handles MARKREAD TARGET timestamp=TIME; the timestamp is * if nothing was read.
func (c *Client) onMarkRead(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 2 {
		return
	}
	v := c.lookup(m.Params[0])
	stamp, is := strings.CutPrefix(m.Params[1], "timestamp=")
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if v == nil || !is || err != nil {
		return
	}
	if v.markerKnown = true; t.After(v.ReadUntil) {
		v.ReadUntil, v.markerChanged = t, false
		v.recountUnread()
	}
	if !t.Before(v.ReadUntil) {
		v.markerInFlight = false
	}
	c.emit(Event{Kind: Changed, Conversation: v})
}
