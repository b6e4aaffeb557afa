package chat_test

import (
	"strconv"
	"strings"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/tcpip/netsim"
)

// tap checks the lines that a client receives: outside of histories that it has requested, a
// connection receives each message of the room once, in the order of the log. So it does with
// direct messages; a client has them with one account only.
type tap struct {
	w    *netsim.World
	name string
	// the place in the log of the connection's latest message, in the room (true) and direct
	latest map[bool]int64
	all    map[string]string // the texts of the room, by their ids
}

// connected starts a connection.
func (t *tap) connected() {
	t.latest = map[bool]int64{true: -1, false: -1}
	t.w.Logf("%s: connected", t.name)
}

// line checks a line.
func (t *tap) line(line string) {
	m, err := ircmsg.ParseLine(line)
	if err != nil {
		t.w.Errorf("%s received the line %q: %v", t.name, line, err)
		return
	}
	isHistory, _ := m.GetTag("batch")
	_, id := m.GetTag("msgid")
	if m.Command != "PRIVMSG" || isHistory {
		return
	}
	at, err := strconv.ParseInt(id[strings.LastIndexByte(id, '-')+1:], 10, 64)
	if err != nil {
		t.w.Errorf("%s received %q: got the msgid %q, want one that ends in an offset", t.name, line, id)
		return
	}
	inRoom := m.Params[0] == room
	if at <= t.latest[inRoom] {
		t.w.Errorf("%s received %q at offset %d of the log behind one at %d, want each once and in order", t.name, line, at, t.latest[inRoom])
	}
	t.latest[inRoom] = at
	if t.all == nil {
		t.all = map[string]string{}
	}
	if inRoom {
		t.all[id] = m.Params[1]
	}
}
