package client

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// defaultPage is how many messages are asked for at once.
const defaultPage = 100

// request is what was asked of the history of a conversation: one thing at a time.
type request int

const (
	none   request = iota
	latest         // the newest
	after          // what is newer than the last
	before         // what is older than the first
)

func (c *Client) canHistory() bool {
	return c.caps["draft/chathistory"] && c.caps["batch"] && c.caps["message-tags"]
}

// catchUp fills the gap between what is there and what will come live. Until that is done, what
// comes live waits.
func (c *Client) catchUp(v *Conversation) {
	switch {
	case c.state != Online:
	case !c.canHistory() || !v.Room && c.account == "":
		c.flush(v, false)
	case v.last == "" && v.begun: // there was nothing: all that there is came later
		c.ask(v, after, "timestamp="+stamp(time.Unix(0, 0)))
	case v.last == "":
		c.ask(v, latest, "*")
	default:
		c.ask(v, after, "msgid="+v.last)
	}
}

// Older asks for what was said before the first message that is there. It does nothing where that
// can't be had.
func (c *Client) Older(v *Conversation) {
	if c.state == Online && v.Joined && v.asked == none && !v.Complete && v.first != "" && c.canHistory() {
		c.ask(v, before, "msgid="+v.first)
		v.Loading = true
	}
}

func (c *Client) ask(v *Conversation, what request, point string) {
	v.asked = what
	c.send("CHATHISTORY", [...]string{latest: "LATEST", after: "AFTER", before: "BEFORE"}[what], v.Name, point, strconv.Itoa(c.page))
}

// batch is a batch that is coming in.
type batch struct {
	kind, target string
	lines        []ircmsg.Message
}

// maxBatch is how many lines of a batch are kept, and how many batches.
const maxBatch = 10_000

// collect keeps a line of a batch for its end.
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
		c.history(b, now)
	case b.kind == "search":
		c.searched(b, now)
	default: // of which we make no use: its lines as if there were none
		for i := range b.lines {
			if handle := handlers[b.lines[i].Command]; handle != nil && b.lines[i].Command != "BATCH" {
				handle(c, &b.lines[i], now)
			}
		}
	}
}

// history takes what was asked for.
func (c *Client) history(b *batch, now time.Time) {
	v := c.named(b.target)
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
		if msg, ok := c.read(&b.lines[i], now); ok {
			page = append(page, msg)
		} else {
			c.reacted(v, &b.lines[i])
		}
	}
	switch v.asked {
	case before:
		c.prepend(v, page, first)
	case after:
		asked := v.last
		c.append(v, page)
		if last != "" && last != asked { // there may be more: only an empty page is the end
			v.last = last
			c.ask(v, after, "msgid="+last)
			return
		}
		c.caughtUp(v)
	case latest:
		c.begin(v, page, last)
	default: // a replay that nobody asked for
		c.append(v, page)
	}
}

func (c *Client) append(v *Conversation, page []Message) {
	for _, msg := range page {
		c.add(v, msg)
	}
}

// begin takes the first page of a conversation: it is not new to its reader, unless the server says
// how far he has read.
func (c *Client) begin(v *Conversation, page []Message, last string) {
	// more came live than a page holds
	if at := slices.IndexFunc(v.later, func(m Message) bool { return m.ID != "" && within(page, m.ID) }); at > 0 {
		c.append(v, v.later[:at])
		v.later = v.later[at:]
	}
	c.append(v, page)
	v.begun = true
	if last != "" {
		v.last = last
	} else if len(v.Messages) == 0 {
		v.Complete = true
	}
	if n := len(page); n > 0 && !v.marked {
		v.Read = page[n-1].Time
		v.count()
	}
	c.caughtUp(v)
}

func within(page []Message, id string) bool {
	return slices.ContainsFunc(page, func(m Message) bool { return m.ID == id })
}

// prepend takes a page of older messages.
func (c *Client) prepend(v *Conversation, page []Message, first string) {
	v.asked, v.Loading = none, false
	page = slices.DeleteFunc(page, func(m Message) bool { return !v.learn(&m) })
	v.Messages = append(page, v.Messages...)
	if first == "" || first == v.first {
		v.Complete = true
	} else {
		v.first = first
	}
	v.count()
	c.emit(Event{Kind: Changed, Conversation: v})
}

// caughtUp ends a gap: what waited follows, and what was said and is not in the history is said
// again.
func (c *Client) caughtUp(v *Conversation) {
	waited := v.later
	v.asked, v.later = none, nil
	c.append(v, waited)
	c.flush(v, true)
	c.emit(Event{Kind: Changed, Conversation: v})
}

// historyRefused is FAIL CHATHISTORY CODE KIND TARGET :TEXT.
func (c *Client) historyRefused(m *ircmsg.Message) {
	if len(m.Params) < 5 {
		return
	}
	v := c.named(m.Params[3])
	if v == nil {
		return
	}
	switch v.asked {
	case after:
		// the message is gone, or the room is another
		if m.Params[1] == "INVALID_MSGREFTYPE" || m.Params[1] == "INVALID_PARAMS" {
			c.add(v, Message{Seq: c.seq(), Time: v.lastTime(), Kind: Happened, Text: "messages may be missing here"})
			v.last, v.begun = "", false
			c.ask(v, latest, "*")
			return
		}
		c.caughtUp(v)
	case latest:
		c.caughtUp(v)
	case before:
		v.asked, v.Loading, v.Complete = none, false, true
		c.emit(Event{Kind: Changed, Conversation: v})
	}
}

func (v *Conversation) lastTime() time.Time {
	if n := len(v.Messages); n > 0 {
		return v.Messages[n-1].Time
	}
	return time.Time{}
}

// onHistoryTarget is CHATHISTORY TARGETS NAME TIME: a conversation with something in it.
func (c *Client) onHistoryTarget(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 2 || m.Params[0] != "TARGETS" || c.isRoom(m.Params[1]) || c.named(m.Params[1]) != nil {
		return
	}
	if v := c.conversation(m.Params[1]); v != nil {
		c.emit(Event{Kind: Opened, Conversation: v})
		c.catchUp(v)
	}
}

// onMarkRead is MARKREAD TARGET timestamp=TIME, or * when nothing was read.
func (c *Client) onMarkRead(m *ircmsg.Message, _ time.Time) {
	if len(m.Params) < 2 {
		return
	}
	v := c.named(m.Params[0])
	stamp, is := strings.CutPrefix(m.Params[1], "timestamp=")
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if v == nil || !is || err != nil {
		return
	}
	if v.marked = true; t.After(v.Read) {
		v.Read, v.moved = t, false
		v.count()
	}
	c.emit(Event{Kind: Changed, Conversation: v})
}
