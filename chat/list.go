package chat

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"weir/chat/irc"
)

const (
	maxList      = 1500 // rooms in one answer to LIST; the largest are kept
	maxListWords = 32   // conditions of one LIST; each is compared with every room
	// a command that examines more users or rooms counts as one more for each itemsPerCommand
	itemsPerCommand = 256
)

// listFilter is the conditions of a LIST (ELIST=CMNTU). The zero value matches all rooms.
type listFilter []func(key string, r *room) bool

func (l listFilter) matches(key string, r *room) bool {
	return !slices.ContainsFunc(l, func(f func(string, *room) bool) bool { return !f(key, r) })
}

// parseList parses the conditions of a LIST. Names and masks: one of them must match. !MASK: it
// must not match. >N and <N: members. C>N and C<N: minutes since the room was created. T>N and T<N:
// minutes since its topic was set.
func parseList(words string, now time.Time) (l listFilter) {
	var masks []string
	all := strings.Split(words, ",")
	for _, word := range all[:min(len(all), maxListWords)] {
		kind, rest := word, ""
		if i := strings.IndexAny(word, "<>"); i >= 0 && i < 2 {
			kind, rest = word[:i+1], word[i+1:]
		}
		n := atoi(rest)
		ago := func(at time.Time) bool { return now.Sub(at) > time.Duration(n)*time.Minute }
		switch {
		case word == "":
		case kind == ">":
			l = append(l, func(_ string, r *room) bool { return len(r.members) > n })
		case kind == "<":
			l = append(l, func(_ string, r *room) bool { return len(r.members) < n })
		case kind == "C>":
			l = append(l, func(_ string, r *room) bool { return ago(r.createdAt) })
		case kind == "C<":
			l = append(l, func(_ string, r *room) bool { return !ago(r.createdAt) })
		case kind == "T>":
			l = append(l, func(_ string, r *room) bool { return r.topic != "" && ago(r.topicSetAt) })
		case kind == "T<":
			l = append(l, func(_ string, r *room) bool { return r.topic != "" && !ago(r.topicSetAt) })
		case word[0] == '!':
			l = append(l, func(key string, _ *room) bool { return !irc.Match(word[1:], key) })
		default:
			masks = append(masks, word)
		}
	}
	if masks != nil {
		l = append(l, func(key string, _ *room) bool {
			return slices.ContainsFunc(masks, func(mask string) bool { return irc.Match(mask, key) })
		})
	}
	return l
}

func (s *session) cmdList(m *irc.Message) {
	asked := parseList(irc.Param(m, 0), s.svc.now)
	s.charge(len(s.svc.rooms) / itemsPerCommand)
	var found []*room
	for key, r := range s.svc.rooms {
		if r.isVisibleTo(s.user) && len(r.members) > 0 && asked.matches(key, r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *room) int {
		return cmp.Or(cmp.Compare(len(b.members), len(a.members)), cmp.Compare(a.name, b.name))
	})
	s.numeric(irc.RplListStart, "Channel", "Users  Name")
	for _, r := range found[:min(len(found), maxList)] {
		s.numeric(irc.RplList, r.name, itoa(len(r.members)), r.topic)
	}
	s.numeric(irc.RplListEnd, "End of LIST")
}
