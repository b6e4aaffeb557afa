package chat

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"weir/chat/irc"
)

const (
	maxList      = 1500 // rooms of an answer to LIST at most: the largest
	maxListWords = 32   // that a LIST may ask by: each is compared with each room
	// users, or rooms, that a command looks at: as many more count as one more command
	walk = 256
)

// listed is what a LIST asks for (ELIST=CMNTU). The zero value is all.
type listed []func(key string, r *room) bool

func (l listed) holds(key string, r *room) bool {
	return !slices.ContainsFunc(l, func(f func(string, *room) bool) bool { return !f(key, r) })
}

// parseList understands names and masks, of which one has to fit, !MASK, >N, <N members, C>N, C<N
// minutes since the room was made, T>N, T<N since its topic was set.
func parseList(words string, now time.Time) (l listed) {
	var masks []string
	all := strings.Split(words, ",")
	for _, word := range all[:min(len(all), maxListWords)] {
		kind, rest := word, ""
		if i := strings.IndexAny(word, "<>"); i >= 0 && i < 2 {
			kind, rest = word[:i+1], word[i+1:]
		}
		n := number(rest)
		ago := func(at time.Time) bool { return now.Sub(at) > time.Duration(n)*time.Minute }
		switch {
		case word == "":
		case kind == ">":
			l = append(l, func(_ string, r *room) bool { return len(r.members) > n })
		case kind == "<":
			l = append(l, func(_ string, r *room) bool { return len(r.members) < n })
		case kind == "C>":
			l = append(l, func(_ string, r *room) bool { return ago(r.made) })
		case kind == "C<":
			l = append(l, func(_ string, r *room) bool { return !ago(r.made) })
		case kind == "T>":
			l = append(l, func(_ string, r *room) bool { return r.topic != "" && ago(r.topicAt) })
		case kind == "T<":
			l = append(l, func(_ string, r *room) bool { return r.topic != "" && !ago(r.topicAt) })
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
	asked := parseList(irc.Param(m, 0), s.svc.o.Now())
	s.charge(len(s.svc.rooms) / walk)
	var found []*room
	for key, r := range s.svc.rooms {
		if r.sees(s.user) && len(r.members) > 0 && asked.holds(key, r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *room) int {
		return cmp.Or(cmp.Compare(len(b.members), len(a.members)), cmp.Compare(a.name, b.name))
	})
	s.num(irc.RplListStart, "Channel", "Users  Name")
	for _, r := range found[:min(len(found), maxList)] {
		s.num(irc.RplList, r.name, itoa(len(r.members)), r.topic)
	}
	s.num(irc.RplListEnd, "End of LIST")
}
