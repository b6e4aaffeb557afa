package chat

import (
	"strings"
	"time"

	"weir/chat/irc"
)

// maxGone is how many users who left, or took another nick, WHOWAS knows. Who restarts the server
// forgets them.
const maxGone = 500

// maxWhowas is how many users of a nick WHOWAS tells of at most.
const maxWhowas = 16

// gone is a user as it was.
type gone struct {
	key                    string // folded nick
	nick, name, host, real string
	at                     time.Time
}

// leavers is a ring of those who left last. Guarded by Service.mu.
type leavers struct {
	all  []gone
	next int // where the next goes, once there are maxGone
}

func (l *leavers) add(u *user, at time.Time) {
	g := gone{irc.Fold(u.nick), u.nick, u.name, u.host, u.real, at}
	if len(l.all) < maxGone {
		l.all = append(l.all, g)
		return
	}
	l.all[l.next] = g
	l.next = (l.next + 1) % maxGone
}

// named calls f for those of a nick, the latest first, until it returns false.
func (l *leavers) named(key string, f func(gone) bool) {
	for i := range l.all {
		g := l.all[(l.next-1-i+2*len(l.all))%len(l.all)]
		if g.key == key && !f(g) {
			return
		}
	}
}

// cmdWhowas answers WHOWAS NICK[,NICK...] [COUNT].
func (s *session) cmdWhowas(m *irc.Message) {
	nicks := irc.Param(m, 0)
	if nicks == "" {
		s.num(irc.ErrNoNick, "No nickname given")
		return
	}
	for i, nick := range strings.Split(nicks, ",") {
		if i == maxTargets {
			break
		}
		s.whowas(nick, number(irc.Param(m, 1)))
	}
	s.num(irc.RplEndOfWhowas, irc.Cut(nicks, irc.MaxTopic), "End of WHOWAS")
}

// whowas tells of the last so many users of a nick; of as many as it may, if most is not above
// zero.
func (s *session) whowas(nick string, most int) {
	if most <= 0 || most > maxWhowas {
		most = maxWhowas
	}
	n := 0
	s.svc.leavers.named(irc.Fold(nick), func(g gone) bool {
		s.num(irc.RplWhowasUser, g.nick, g.name, g.host, "*", g.real)
		s.num(irc.RplWhoisServer, g.nick, s.svc.o.Name, g.at.UTC().Format(time.ANSIC))
		n++
		return n != most
	})
	if n == 0 {
		s.num(irc.ErrWasNoSuchNick, irc.Cut(nick, irc.MaxNick), "There was no such nickname")
	}
}
