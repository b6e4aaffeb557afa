package chatload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"weir/lab/internal/oneloop"
	"weir/lab/load"
)

// historyCaps are the capabilities that a new member needs to read history in pages.
var historyCaps = []string{"batch", "draft/chathistory", "draft/event-playback", "message-tags", "server-time"}

func isHistory(c string) bool { return slices.Contains(historyCaps, c) }

// atEnd is the argument of a PING that is answered after everything that the server sends on JOIN.
const atEnd = "end-of-history"

// fillStep is how many messages are sent to fill the room between two checks that the server keeps
// up.
const fillStep = 200

// replay is one reading of a room's history, and the method of reading. The new member that reads
// is the loop's last member.
type replay struct {
	inPages      bool   // by CHATHISTORY
	latestOnly   bool   // the server supports only requests for the latest messages
	methodKnown  bool   // the first new member has determined the method
	pageLimit    int    // messages per page, 0 if the server has no limit
	startedAt    int64  // ns; start of the reading, 0 while there is none
	received     int    // messages received
	pageReceived int    // messages received of the current page
	lastLine     []byte // the line of the last message
	number       int    // number of the new member
	nextAllowed  bool   // the next new member may join
	filled       uint32 // messages that the server has accepted
}

// how returns how history is read.
func (r *replay) how() string {
	switch {
	case !r.methodKnown:
		return ""
	case r.inPages:
		return "chathistory"
	}
	return "on joining"
}

// fill has the first member send the messages to be replayed.
func (l *loop) fill() error {
	m, timeout := &l.members[0], int64(l.timeout())
	for progress := l.Clock.Now(); int(l.replay.filled) < l.Replay; {
		if l.replay.filled == m.nextNumber {
			for n := 0; n < fillStep && int(m.nextNumber) < l.Replay; n++ {
				l.Send(0, 0, 0)
			}
			l.write(0, fmt.Appendf(nil, "PING f%d\r\n", m.nextNumber))
			progress = l.Clock.Now()
		}
		l.Turn(l, l.Clock.Now()+oneloop.Nap)
		switch {
		case l.Stop.Load():
			return context.Canceled
		case l.Err != nil:
			return l.Err
		case m.state != present:
			return oneloop.ErrAllLost
		case l.Clock.Now()-progress > timeout:
			return fmt.Errorf(load.ServerFailed+"the server accepted no further message for %v, after %d of %d", l.timeout(), l.replay.filled, l.Replay)
		}
	}
	l.outstanding = 0
	return nil
}

// handlePong handles the answer to a PING that belongs to a replay.
func (l *loop) handlePong(i int, token []byte, now int64) {
	if filled, found := bytes.CutPrefix(token, []byte("f")); found && i == 0 {
		l.replay.filled = decimal(filled)
	}
	if i == len(l.members)-1 && string(token) == atEnd && !l.replay.inPages && l.replay.startedAt > 0 {
		l.endReplay("")
	}
}

// nextReplay connects the next new member.
func (l *loop) nextReplay() {
	r := &l.replay
	r.number++
	r.nextAllowed, r.received, r.pageReceived, r.startedAt, r.lastLine = false, 0, 0, 0, r.lastLine[:0]
	i := len(l.members) - 1
	l.members[i].nick = l.prefix() + "r" + strconv.Itoa(r.number%100_000)
	l.members[i].echoesMessages = false
	l.Connect(i)
}

// joinReplay has the new member join. If history is sent on JOIN, the reading starts.
func (l *loop) joinReplay(i int, now int64) {
	m, r := &l.members[i], &l.replay
	m.state, r.methodKnown = joining, true
	l.write(i, []byte("JOIN "+l.rooms[0].name+"\r\n"))
	if !r.inPages {
		r.startedAt = now
		l.write(i, []byte("PING "+atEnd+"\r\n"))
	}
}

// namesEnd handles the end of the names on JOIN: the new member requests history, if the server
// supports that.
func (l *loop) namesEnd(i int, now int64) {
	m, r := &l.members[i], &l.replay
	if i != len(l.members)-1 || m.state != joining {
		return
	}
	m.state = present
	if r.inPages {
		r.startedAt = now
		l.askPage(i)
	}
}

// limits records the server's limit on pages.
func (l *loop) limits(i int, p *lineOf) {
	for _, word := range p.params[:p.n] {
		if most, found := bytes.CutPrefix(word, []byte("CHATHISTORY=")); found && i == len(l.members)-1 {
			l.replay.pageLimit = int(decimal(most))
		}
	}
}

// askPage requests the next page, starting with the oldest.
func (l *loop) askPage(i int) {
	r, room := &l.replay, l.rooms[0].name
	page := r.pageLimit
	if page == 0 {
		page = l.Replay
	}
	r.pageReceived = 0
	last := parse(r.lastLine)
	switch {
	case r.latestOnly:
		l.write(i, fmt.Appendf(nil, "CHATHISTORY LATEST %s * %d\r\n", room, page))
	case len(r.lastLine) == 0:
		l.write(i, fmt.Appendf(nil, "CHATHISTORY AFTER %s timestamp=2000-01-01T00:00:00.000Z %d\r\n", room, page))
	default:
		l.write(i, fmt.Appendf(nil, "CHATHISTORY AFTER %s msgid=%s %d\r\n", room, last.tag("msgid"), page))
	}
}

// onlyLatest tries CHATHISTORY LATEST, which every server with pages supports, after CHATHISTORY
// AFTER has failed. It reports whether it did.
func (l *loop) onlyLatest(i int, command string, p *lineOf) bool {
	r := &l.replay
	if i != len(l.members)-1 || command != "FAIL" || string(p.param(0)) != "CHATHISTORY" || r.latestOnly || r.received > 0 {
		return false
	}
	r.latestOnly = true
	l.askPage(i)
	return true
}

// replayed checks and counts a message of the history.
func (l *loop) replayed(line []byte, at int, now int64) {
	r := &l.replay
	sender, number, ok := l.read(line[at:])
	if !ok || sender != 0 || int(number) != r.received {
		l.Failures.Add(kindWrong, 1, "message %d of a replay was %q", r.received, line)
	}
	r.received++
	r.pageReceived++
	l.Done.Add(1)
	switch {
	case l.Window.Holds(now):
		l.Messages++
		l.Bytes += int64(len(line) + 2)
	case now < l.Window.From.Load():
		l.WarmMessages++
	}
	r.lastLine = append(r.lastLine[:0], line...)
}

// batch handles the end of a page.
func (l *loop) batch(i int, p *lineOf, now int64) {
	r := &l.replay
	if i != len(l.members)-1 || r.startedAt == 0 || !r.inPages || !bytes.HasPrefix(p.param(0), []byte("-")) {
		return
	}
	if r.received >= l.Replay || r.pageReceived == 0 || r.latestOnly {
		l.endReplay("")
		return
	}
	l.askPage(i)
}

// endReplay ends a reading, and starts the next one if there is time.
func (l *loop) endReplay(why string) {
	r, i, now := &l.replay, len(l.members)-1, l.Clock.Now()
	if l.Replay == 0 || l.IsOver || l.Err != nil {
		l.shut(i)
		return
	}
	switch {
	case why != "":
		l.Err = errors.New(load.ServerFailed + "a replay failed: " + why)
	case r.received != l.Replay:
		l.Err = fmt.Errorf(load.ServerFailed+"%d messages of a history of %d were replayed %s", r.received, l.Replay, r.how())
	case l.Window.Holds(now):
		l.replays.Record(now - r.startedAt)
	}
	l.shut(i)
	r.nextAllowed, r.startedAt = l.Err == nil, 0
}
