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

// The state of a room: what it is now, in IRC lines, in the file state beside its log. Names are in the room's own spelling:
//
//	:weir.chat CREATED #Room 1763730000
//	:weir.chat RENAMED #Room #old                         a name that it had, folded
//	:alice!alice@host TOPIC #Room :text
//	:weir.chat 333 #Room alice!alice@host 1763730000     when that was said
//	:weir.chat MODE #Room +ntk key
//	:weir.chat MODE #Room +o alice               an account
//	:alice MODE #Room +b mask 1763730000

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
	b = irc.AppendLine(b, server, "MODE", append([]string{name}, x.modes(true)...)...)
	for _, account := range slices.Sorted(maps.Keys(x.ranks)) {
		ranks := x.ranks[account]
		b = irc.AppendLine(b, server, "MODE", append([]string{name, "+" + ranks}, repeat(account, len(ranks))...)...)
	}
	for _, ban := range x.bans {
		b = irc.AppendLine(b, ban.by, "MODE", name, "+b", ban.mask, epoch(ban.at))
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
		case err != nil || len(m.Params) < 2:
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
	case m.Command == "RENAMED":
		r.wasCalled(m.Params[1])
	case m.Command == "CREATED":
		r.made = stamp(m.Params[1])
	case m.Command == "TOPIC":
		r.topic, r.topicBy, r.topicAt = m.Params[1], m.Source, r.made
	case m.Command == irc.RplTopicWhoTime && m.Params[1] == r.topicBy: // otherwise it is of an older topic
		r.topicAt = stamp(irc.Param(m, 2))
	case m.Command == "MODE" && m.Params[1] == "+b" && len(m.Params) > 2:
		r.bans = append(r.bans, ban{m.Params[2], m.Source, stamp(irc.Param(m, 3))})
	case m.Command == "MODE" && strings.Trim(m.Params[1], "+"+irc.RoomRanks) == "" && len(m.Params) > 2:
		r.ranks[irc.Fold(m.Params[2])] = strings.TrimPrefix(m.Params[1], "+")
	case m.Command == "MODE":
		r.readModes(m.Params[1:])
	}
}

func (r *room) readModes(params []string) {
	r.flags = ""
	changes, _ := irc.Changes(params)
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
