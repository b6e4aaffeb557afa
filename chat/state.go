package chat

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/chat/irc"
)

// The state of a room: what it is now, in IRC lines, in the file state beside its log. Names are in
// the room's own spelling:
//
//	:weir.chat CREATED #Room 1763730000
//	:weir.chat RENAMED #Room #old                         a name that it had, folded
//	:alice!alice@host TOPIC #Room :text
//	:weir.chat 333 #Room alice!alice@host 1763730000     when that was said
//	:weir.chat MODE #Room +ntk key
//	:weir.chat MODE #Room +o alice               an account
//	:alice MODE #Room +b mask 1763730000
//
// Lines that this version does not know are kept, behind all others.

// state is the state file of a room of these settings.
func (x *settings) state(server, name string) []byte {
	b := irc.AppendLine(nil, server, "CREATED", name, epoch(x.made))
	for _, former := range x.former {
		b = irc.AppendLine(b, server, "RENAMED", name, former)
	}
	if x.topic != "" {
		b = irc.AppendLine(b, x.topicBy, "TOPIC", name, x.topic)
		b = irc.AppendLine(b, server, irc.RplTopicWhoTime, name, x.topicBy, epoch(x.topicAt))
	}
	modes := x.modes(true)
	modes[0] += x.otherFlags
	b = irc.AppendLine(b, server, "MODE", append([]string{name}, modes...)...)
	for _, account := range slices.Sorted(maps.Keys(x.ranks)) {
		ranks := x.ranks[account]
		b = irc.AppendLine(b, server, "MODE", append([]string{name, "+" + ranks}, repeat(account, len(ranks))...)...)
	}
	for _, ban := range x.bans {
		b = irc.AppendLine(b, ban.by, "MODE", name, "+b", ban.mask, epoch(ban.at))
	}
	for _, m := range x.otherLines {
		b = irc.AppendLine(b, m.Source, m.Command, append([]string{name}, m.Params[1:]...)...)
	}
	return b
}

// readState takes over what the file says. Nobody else has the room yet.
func (r *room) readState() error {
	data, err := os.ReadFile(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for line := range bytes.Lines(data) {
		m, err := ircmsg.ParseLine(string(line))
		switch {
		case err != nil || len(m.Params) == 0:
			continue
		case irc.Fold(m.Params[0]) == irc.Fold(r.name):
			r.name = m.Params[0]
		default: // it was renamed, and the server died before it wrote the file again
			r.wasCalled(m.Params[0])
		}
		r.readLine(&m)
	}
	return err
}

func (r *room) readLine(m *irc.Message) {
	switch {
	case len(m.Params) == 1:
		r.otherLines = append(r.otherLines, *m)
	case m.Command == "RENAMED":
		r.wasCalled(m.Params[1])
	case m.Command == "CREATED":
		r.made = stamp(m.Params[1])
	case m.Command == "TOPIC":
		r.topic, r.topicBy, r.topicAt = m.Params[1], m.Source, r.made
	case m.Command == irc.RplTopicWhoTime:
		if m.Params[1] == r.topicBy { // otherwise it is of an older topic
			r.topicAt = stamp(irc.Param(m, 2))
		}
	case m.Command == "MODE":
		r.readMode(m)
	default:
		r.otherLines = append(r.otherLines, *m)
	}
}

// readMode reads a line of MODE: a ban, the ranks of an account, or the modes of the room. A line
// that sets none of these is kept as it is.
func (r *room) readMode(m *irc.Message) {
	switch letters := m.Params[1]; {
	case letters == "+b" && len(m.Params) > 2:
		r.bans = append(r.bans, ban{m.Params[2], m.Source, stamp(irc.Param(m, 3))})
	case strings.Trim(letters, "+"+irc.RoomRanks) == "" && len(m.Params) > 2:
		r.ranks[irc.Fold(m.Params[2])] = strings.TrimPrefix(letters, "+")
	case len(m.Params) == 2 || strings.ContainsAny(letters, irc.RoomFlags+irc.RoomKeyed+irc.RoomLimited):
		r.readModes(m.Params[1:])
	default:
		r.otherLines = append(r.otherLines, *m)
	}
}

func (r *room) readModes(params []string) {
	changes, unknown := irc.Changes(params)
	r.flags, r.otherFlags = "", string(unknown)
	for _, c := range changes {
		switch c.Mode {
		case 'k':
			r.joinKey = c.Param
		case 'l':
			r.limit = number(c.Param)
		default:
			r.flags = setLetter(r.flags, c.Mode, c.On, irc.RoomFlags)
		}
	}
}

func stamp(s string) time.Time {
	n, _ := strconv.ParseInt(s, 10, 64)
	return time.Unix(n, 0)
}
