package chat

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"weir/lab/load"
	"weir/lab/load/internal/oneloop"
)

// What a newcomer needs to ask for history in pages.
var historyCaps = []string{"batch", "draft/chathistory", "draft/event-playback", "message-tags", "server-time"}

func isHistory(c string) bool { return slices.Contains(historyCaps, c) }

// atEnd is a PING whose answer comes after all that the server sends on joining.
const atEnd = "end-of-history"

// fillStep is how many messages the room is filled with between two looks at whether the server
// keeps up.
const fillStep = 200

// replay is one reading of a room's history, and what is known of how it is read. The newcomer that
// reads is the loop's last member.
type replay struct {
	pages  bool   // by CHATHISTORY
	latest bool   // the server knows no other way to ask than for the newest
	known  bool   // a first newcomer has found that out
	most   int    // messages in a page, 0 if the server does not limit them
	since  int64  // ns; when reading began, 0 while there is none
	got    int    // messages
	page   int    // messages of the page that comes
	last   []byte // the line of the last message
	number int    // of the newcomer
	next   bool   // the next one is to come
	filled uint32 // messages that the server has taken
}

// how says how history is read.
func (r *replay) how() string {
	switch {
	case !r.known:
		return ""
	case r.pages:
		return "chathistory"
	}
	return "on joining"
}

// fill has the first member tell the room as many messages as are to be replayed.
func (l *loop) fill() error {
	m, timeout := &l.members[0], int64(l.timeout())
	for progress := l.Clock.Now(); int(l.replay.filled) < l.Replay; {
		if l.replay.filled == m.sent {
			for n := 0; n < fillStep && int(m.sent) < l.Replay; n++ {
				l.say(0, 0, 0)
			}
			l.write(0, fmt.Appendf(nil, "PING f%d\r\n", m.sent))
			progress = l.Clock.Now()
		}
		l.turnOnce(l.Clock.Now() + oneloop.Nap)
		switch {
		case l.Stop.Load():
			return l.cancelled()
		case l.Err != nil:
			return l.Err
		case m.state != present:
			return errAllLost
		case l.Clock.Now()-progress > timeout:
			return fmt.Errorf(load.ServerFailed+"the server took no message more for %v, after %d of %d", l.timeout(), l.replay.filled, l.Replay)
		}
	}
	l.owed = 0
	return nil
}

// asked deals with the answer to a PING that belongs to a replay.
func (l *loop) asked(i int, token []byte, now int64) {
	if filled, found := bytes.CutPrefix(token, []byte("f")); found && i == 0 {
		l.replay.filled = decimal(filled)
	}
	if i == len(l.members)-1 && string(token) == atEnd && !l.replay.pages && l.replay.since > 0 {
		l.endReplay("")
	}
}

// nextReplay lets the next newcomer come.
func (l *loop) nextReplay() {
	r := &l.replay
	r.number++
	r.next, r.got, r.page, r.since, r.last = false, 0, 0, 0, r.last[:0]
	i := len(l.members) - 1
	l.members[i].nick = l.prefix() + "r" + strconv.Itoa(r.number%100_000)
	l.members[i].echo = false
	l.connect(i)
}

// joinReplay has the newcomer join. Where history comes by itself its time begins.
func (l *loop) joinReplay(i int, now int64) {
	m, r := &l.members[i], &l.replay
	m.state, r.known = joining, true
	l.write(i, []byte("JOIN "+l.rooms[0].name+"\r\n"))
	if !r.pages {
		r.since = now
		l.write(i, []byte("PING "+atEnd+"\r\n"))
	}
}

// named is the end of the names on joining: the newcomer asks for history, if that is to be asked
// for.
func (l *loop) named(i int, now int64) {
	m, r := &l.members[i], &l.replay
	if i != len(l.members)-1 || m.state != joining {
		return
	}
	m.state = present
	if r.pages {
		r.since = now
		l.askPage(i)
	}
}

// limits notes what the server says of its limits.
func (l *loop) limits(i int, p *lineOf) {
	for _, word := range p.params[:p.n] {
		if most, found := bytes.CutPrefix(word, []byte("CHATHISTORY=")); found && i == len(l.members)-1 {
			l.replay.most = int(decimal(most))
		}
	}
}

// askPage asks for the next page, from the oldest on.
func (l *loop) askPage(i int) {
	r, room := &l.replay, l.rooms[0].name
	page := r.most
	if page == 0 {
		page = l.Replay
	}
	r.page = 0
	last := parse(r.last)
	switch {
	case r.latest:
		l.write(i, fmt.Appendf(nil, "CHATHISTORY LATEST %s * %d\r\n", room, page))
	case len(r.last) == 0:
		l.write(i, fmt.Appendf(nil, "CHATHISTORY AFTER %s timestamp=2000-01-01T00:00:00.000Z %d\r\n", room, page))
	default:
		l.write(i, fmt.Appendf(nil, "CHATHISTORY AFTER %s msgid=%s %d\r\n", room, last.tag("msgid"), page))
	}
}

// onlyLatest tries the one way to ask for history that every server with pages has, once the other
// was refused.
func (l *loop) onlyLatest(i int, command string, p *lineOf) bool {
	r := &l.replay
	if i != len(l.members)-1 || command != "FAIL" || string(p.param(0)) != "CHATHISTORY" || r.latest || r.got > 0 {
		return false
	}
	r.latest = true
	l.askPage(i)
	return true
}

// replayed checks and counts a message of the history.
func (l *loop) replayed(line []byte, at int, now int64) {
	r := &l.replay
	sender, number, ok := l.read(line[at:])
	if !ok || sender != 0 || int(number) != r.got {
		l.fails.Add(kindWrong, 1, "message %d of a replay was %q", r.got, line)
	}
	r.got++
	r.page++
	l.Done.Add(1)
	switch {
	case l.Window.Holds(now):
		l.messages++
		l.bytes += int64(len(line) + 2)
	case now < l.Window.From.Load():
		l.warm++
	}
	r.last = append(r.last[:0], line...)
}

// batch deals with the end of a page.
func (l *loop) batch(i int, p *lineOf, now int64) {
	r := &l.replay
	if i != len(l.members)-1 || r.since == 0 || !r.pages || !bytes.HasPrefix(p.param(0), []byte("-")) {
		return
	}
	if r.got >= l.Replay || r.page == 0 || r.latest {
		l.endReplay("")
		return
	}
	l.askPage(i)
}

// endReplay ends a reading, and begins the next one while there is time.
func (l *loop) endReplay(why string) {
	r, i, now := &l.replay, len(l.members)-1, l.Clock.Now()
	if l.Replay == 0 || l.ended || l.Err != nil {
		l.shut(i)
		return
	}
	switch {
	case why != "":
		l.Err = errors.New(load.ServerFailed + "a replay broke off: " + why)
	case r.got != l.Replay:
		l.Err = fmt.Errorf(load.ServerFailed+"%d messages of a history of %d were replayed %s", r.got, l.Replay, r.how())
	case l.Window.Holds(now):
		l.replays.Record(now - r.since)
	}
	l.shut(i)
	r.next, r.since = l.Err == nil, 0
}
