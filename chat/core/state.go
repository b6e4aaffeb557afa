package core

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/chat/irc"
)

// The state of a room is stored as IRC lines in the file "state" beside its log. Names have the
// room's own spelling:
//
//	:weir.chat CREATED #Room 1763730000
//	:weir.chat RENAMED #Room #old                        a former name, folded
//	:alice!alice@host TOPIC #Room :text
//	:weir.chat 333 #Room alice!alice@host 1763730000     when the topic was set
//	:weir.chat MODE #Room +ntk key
//	:weir.chat MODE #Room +o alice                       ranks of an account
//	:alice MODE #Room +b mask 1763730000
//
// Lines that this version does not know are kept, behind all others.

// encodeState returns the contents of the state file.
func (x *settings) encodeState(server, name string) []byte {
	b := irc.AppendLine(nil, server, "CREATED", name, formatEpoch(x.createdAt))
	for _, former := range x.formerNames {
		b = irc.AppendLine(b, server, "RENAMED", name, former)
	}
	if x.topic != "" {
		b = irc.AppendLine(b, x.topicSetBy, "TOPIC", name, x.topic)
		b = irc.AppendLine(b, server, irc.RplTopicWhoTime, name, x.topicSetBy, formatEpoch(x.topicSetAt))
	}
	modes := x.modeWords(true)
	modes[0] += x.unknownFlags
	b = irc.AppendLine(b, server, "MODE", append([]string{name}, modes...)...)
	for _, account := range slices.Sorted(maps.Keys(x.accountRanks)) {
		ranks := x.accountRanks[account]
		b = irc.AppendLine(b, server, "MODE", append([]string{name, "+" + ranks}, repeatWord(account, len(ranks))...)...)
	}
	for _, ban := range x.bans {
		b = irc.AppendLine(b, ban.setBy, "MODE", name, "+b", ban.mask, formatEpoch(ban.setAt))
	}
	for _, m := range x.unknownLines {
		b = irc.AppendLine(b, m.Source, m.Command, append([]string{name}, m.Params[1:]...)...)
	}
	return b
}

// readState reads the contents of a state file. No other code has access to the room yet.
func (r *room) readState(contents []byte) {
	for line := range bytes.Lines(contents) {
		m, err := ircmsg.ParseLine(string(line))
		switch {
		case err != nil || len(m.Params) == 0:
			continue
		case irc.Fold(m.Params[0]) == irc.Fold(r.name):
			r.name = m.Params[0]
		default: // it was renamed, and the server died before it replaced the file
			r.addFormerName(m.Params[0])
		}
		r.readStateLine(&m)
	}
}

func (r *room) readStateLine(m *irc.Message) {
	switch {
	case len(m.Params) == 1:
		r.unknownLines = append(r.unknownLines, *m)
	case m.Command == "RENAMED":
		r.addFormerName(m.Params[1])
	case m.Command == "CREATED":
		r.createdAt = parseEpoch(m.Params[1])
	case m.Command == "TOPIC":
		r.topic, r.topicSetBy, r.topicSetAt = m.Params[1], m.Source, r.createdAt
	case m.Command == irc.RplTopicWhoTime:
		if m.Params[1] == r.topicSetBy { // otherwise it belongs to an older topic
			r.topicSetAt = parseEpoch(irc.Param(m, 2))
		}
	case m.Command == "MODE":
		r.readModeLine(m)
	default:
		r.unknownLines = append(r.unknownLines, *m)
	}
}

// readModeLine reads a MODE line: a ban, the ranks of an account, or the modes of the room. Other
// MODE lines are kept as they are.
func (r *room) readModeLine(m *irc.Message) {
	switch letters := m.Params[1]; {
	case letters == "+b" && len(m.Params) > 2:
		r.bans = append(r.bans, ban{m.Params[2], m.Source, parseEpoch(irc.Param(m, 3))})
	case strings.Trim(letters, "+"+irc.RoomRanks) == "" && len(m.Params) > 2:
		r.accountRanks[irc.Fold(m.Params[2])] = strings.TrimPrefix(letters, "+")
	case len(m.Params) == 2 || strings.ContainsAny(letters, irc.RoomFlags+irc.RoomKeyed+irc.RoomLimited):
		r.readModes(m.Params[1:])
	default:
		r.unknownLines = append(r.unknownLines, *m)
	}
}

func (r *room) readModes(params []string) {
	changes, unknown := irc.Changes(params)
	r.flags, r.unknownFlags = "", string(unknown)
	for _, c := range changes {
		switch c.Mode {
		case 'k':
			r.joinKey = c.Param
		case 'l':
			r.memberLimit = atoi(c.Param)
		default:
			r.flags = setModeLetter(r.flags, c.Mode, c.On, irc.RoomFlags)
		}
	}
}

func parseEpoch(s string) time.Time {
	n, _ := strconv.ParseInt(s, 10, 64)
	return time.Unix(n, 0)
}

// RoomState describes a room without its messages.
type RoomState struct {
	Name      string            `json:"name"`
	CreatedAt time.Time         `json:"made"`
	Topic     string            `json:"topic"` // "": none; the same holds for the next fields
	TopicBy   string            `json:"topic_by"`
	TopicAt   time.Time         `json:"topic_at,omitzero"`
	Flags     string            `json:"flags"` // letters of irc.RoomFlags
	Key       string            `json:"key"`
	Limit     int               `json:"limit"`
	Ranks     map[string]string `json:"ranks"` // by folded account: "o", "v" or "ov"
	Bans      []string          `json:"bans"`  // masks
}

// ParseRoomState returns the state of a room from its state file. Without that, the room has the
// given name, and was created at the given time.
func ParseRoomState(name string, file []byte, createdAt time.Time) RoomState {
	r := &room{settings: newSettings(createdAt)}
	r.name = name
	r.readState(file)
	s := RoomState{Name: r.name, CreatedAt: r.createdAt, Topic: r.topic, TopicBy: r.topicSetBy, TopicAt: r.topicSetAt, Flags: r.flags, Key: r.joinKey, Limit: r.memberLimit, Ranks: r.accountRanks, Bans: []string{}}
	for _, b := range r.bans {
		s.Bans = append(s.Bans, b.mask)
	}
	return s
}
