package chat

import (
	"strings"
	"time"

	"weir/chat/irc"
)

// whowasHistorySize is how many users that left, or changed their nick, WHOWAS remembers. They are
// not kept across restarts.
const whowasHistorySize = 500

// maxWhowasReplies limits the users that WHOWAS lists for one nick.
const maxWhowasReplies = 16

// whowasEntry is a user at the time it left.
type whowasEntry struct {
	foldedNick             string // folded nick
	nick, name, host, real string
	leftAt                 time.Time
}

// whowasHistory is a ring buffer of the latest users that left. Guarded by Service.mu.
type whowasHistory struct {
	entries []whowasEntry
	next    int // index of the next entry, once the buffer is full
}

func (l *whowasHistory) add(u *user, at time.Time) {
	g := whowasEntry{irc.Fold(u.nick), u.nick, u.name, u.host, u.realname, at}
	if len(l.entries) < whowasHistorySize {
		l.entries = append(l.entries, g)
		return
	}
	l.entries[l.next] = g
	l.next = (l.next + 1) % whowasHistorySize
}

// eachNamed calls f for the entries of a nick, the latest first, until f returns false.
func (l *whowasHistory) eachNamed(key string, f func(whowasEntry) bool) {
	for i := range l.entries {
		g := l.entries[(l.next-1-i+2*len(l.entries))%len(l.entries)]
		if g.foldedNick == key && !f(g) {
			return
		}
	}
}

// cmdWhowas answers WHOWAS NICK[,NICK...] [COUNT].
func (s *session) cmdWhowas(m *irc.Message) {
	nicks := irc.Param(m, 0)
	if nicks == "" {
		s.numeric(irc.ErrNoNick, "No nickname given")
		return
	}
	for i, nick := range strings.Split(nicks, ",") {
		if i == maxTargets {
			break
		}
		s.sendWhowas(nick, atoi(irc.Param(m, 1)))
	}
	s.numeric(irc.RplEndOfWhowas, irc.Cut(nicks, irc.MaxTopic), "End of WHOWAS")
}

// sendWhowas lists the last so many users of a nick; the maximum if most is not positive.
func (s *session) sendWhowas(nick string, limit int) {
	if limit <= 0 || limit > maxWhowasReplies {
		limit = maxWhowasReplies
	}
	n := 0
	s.svc.whowas.eachNamed(irc.Fold(nick), func(g whowasEntry) bool {
		s.numeric(irc.RplWhowasUser, g.nick, g.name, g.host, "*", g.real)
		s.numeric(irc.RplWhoisServer, g.nick, s.svc.fixed.Name, g.leftAt.UTC().Format(time.ANSIC))
		n++
		return n != limit
	})
	if n == 0 {
		s.numeric(irc.ErrWasNoSuchNick, irc.Cut(nick, irc.MaxNick), "There was no such nickname")
	}
}
