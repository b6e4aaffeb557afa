package chat

import (
	"slices"
	"strconv"
	"strings"

	"weir/chat/irc"
)

// maxBans is how many bans a room may have.
const maxBans = 100

func itoa(n int) string { return strconv.Itoa(n) }

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func (s *session) cmdMode(m *irc.Message) {
	if irc.IsRoom(m.Params[0]) {
		s.roomMode(m)
	} else {
		s.userMode(m)
	}
}

func (s *session) userMode(m *irc.Message) {
	u := s.svc.find(m.Params[0])
	switch {
	case u == nil:
		s.num(irc.ErrNoSuchNick, irc.Cut(m.Params[0], irc.MaxNick), "No such nick")
	case u != s.user:
		s.num(irc.ErrUsersDontMatch, "Cannot change mode for other users")
	case len(m.Params) == 1:
		s.num(irc.RplUModeIs, u.modes())
	default:
		s.changeUser(m.Params[1])
	}
}

func (s *session) changeUser(letters string) {
	on, changed := true, []irc.Change(nil)
	for _, c := range []byte(letters) {
		flag := map[byte]*bool{'B': &s.user.bot, 'i': &s.user.invisible, 'o': &s.user.oper}[c]
		switch {
		case c == '+' || c == '-':
			on = c == '+'
		case flag == nil:
			s.num(irc.ErrUModeUnknown, "Unknown MODE flag")
		case *flag != on && (c != 'o' || !on): // nobody makes himself an operator
			*flag = on
			changed = append(changed, irc.Change{On: on, Mode: c})
		}
	}
	if len(changed) > 0 {
		s.svc.news(s.user, s, "MODE", append([]string{s.user.nick}, irc.FormatChanges(changed)...)...).to(s.user)
	}
}

func (s *session) roomMode(m *irc.Message) {
	r := s.svc.rooms[irc.Fold(m.Params[0])]
	if r == nil || !r.sees(s.user) {
		s.num(irc.ErrNoSuchChannel, irc.Cut(m.Params[0], irc.MaxRoom), "No such channel")
		return
	}
	if len(m.Params) == 1 {
		s.num(irc.RplChannelModeIs, append([]string{r.name}, r.modes(s.user.rooms[r] != nil)...)...)
		s.num(irc.RplCreationTime, r.name, epoch(r.made))
		return
	}
	changes, unknown := irc.Changes(m.Params[1:])
	for _, c := range unknown {
		s.num(irc.ErrUnknownMode, string(rune(c)), "is unknown mode char to me")
	}
	if len(changes) == 1 && changes[0].Mode == 'b' && changes[0].Param == "" {
		s.banList(r)
		return
	}
	if len(changes) == 0 || s.roomOfOps(r.name) == nil {
		return
	}
	var done []irc.Change
	for _, c := range changes {
		if c, ok := s.changeRoom(r, c); ok {
			done = append(done, c)
		}
	}
	if len(done) > 0 {
		s.svc.news(s.user, s, "MODE", append([]string{r.name}, irc.FormatChanges(done)...)...).toRoom(r)
		r.stateless = true
		s.svc.wants(&r.feed)
	}
}

func (s *session) banList(r *room) {
	for _, b := range r.bans {
		s.num(irc.RplBanList, r.name, b.mask, b.by, epoch(b.at))
	}
	s.num(irc.RplEndOfBanList, r.name, "End of channel ban list")
}

// changeRoom makes one change, and returns it as others see it; ok is false when nothing changed.
func (s *session) changeRoom(r *room, c irc.Change) (_ irc.Change, ok bool) {
	switch c.Mode {
	case 'b':
		return s.changeBan(r, c)
	case 'k':
		return s.changeKey(r, c)
	case 'l':
		n := number(c.Param)
		if c.On && n <= 0 {
			s.num(irc.ErrInvalidModeParam, r.name, "l", irc.Word(irc.Cut(c.Param, 32)), "A limit is a number above 0")
		}
		if c.On == (n == 0) || n < 0 || r.limit == n {
			return c, false
		}
		r.limit = n
		return c, true
	case 'o', 'v':
		return s.changeRank(r, c)
	}
	if r.has(c.Mode) == c.On {
		return c, false
	}
	r.flags = setLetter(r.flags, c.Mode, c.On, irc.RoomFlags)
	return c, true
}

func (s *session) changeBan(r *room, c irc.Change) (irc.Change, bool) {
	if c.Param == "" {
		return c, false
	}
	if irc.Word(c.Param) != c.Param { // it could not be shown, nor stored
		s.num(irc.ErrInvalidModeParam, r.name, "b", "*", "A mask is one word, and does not begin with a colon")
		return c, false
	}
	c.Param = irc.Cut(irc.CleanMask(c.Param), 128)
	i := slices.IndexFunc(r.bans, func(b ban) bool { return irc.Fold(b.mask) == irc.Fold(c.Param) })
	switch {
	case c.On && i < 0 && len(r.bans) < maxBans:
		r.bans = append(r.bans, ban{c.Param, s.user.nick, s.svc.o.Now()})
		return c, true
	case c.On && i < 0:
		s.num(irc.ErrBanListFull, r.name, "b", "Channel ban list is full")
	case !c.On && i >= 0:
		r.bans = slices.Delete(r.bans, i, i+1)
		return c, true
	}
	return c, false
}

func (s *session) changeKey(r *room, c irc.Change) (irc.Change, bool) {
	switch {
	case !c.On && r.key != "":
		r.key, c.Param = "", "*"
		return c, true
	case !c.On:
		return c, false
	case len(c.Param) > irc.MaxKey || strings.ContainsAny(c.Param, ", :"):
		s.num(irc.ErrInvalidKey, r.name, "Key is not well-formed")
		return c, false
	}
	r.key = c.Param
	return c, true
}

// changeRank gives or takes a rank. An account keeps it when it is not there.
func (s *session) changeRank(r *room, c irc.Change) (irc.Change, bool) {
	u := s.svc.find(c.Param)
	if u == nil || r.members[u] == nil {
		s.num(irc.ErrUserNotIn, irc.Cut(c.Param, irc.MaxNick), r.name, "They aren't on that channel")
		return c, false
	}
	m := r.members[u]
	if strings.IndexByte(m.ranks, c.Mode) >= 0 == c.On {
		return c, false
	}
	m.ranks = setLetter(m.ranks, c.Mode, c.On, irc.RoomRanks)
	if u.account != "" {
		if r.ranks[irc.Fold(u.account)] = m.ranks; m.ranks == "" {
			delete(r.ranks, irc.Fold(u.account))
		}
	}
	c.Param = u.nick
	return c, true
}

// setLetter puts a letter into a set or takes it out. The set keeps the order of all.
func setLetter(set string, letter byte, on bool, all string) string {
	var b strings.Builder
	for i := range len(all) {
		if all[i] == letter && on || all[i] != letter && strings.IndexByte(set, all[i]) >= 0 {
			b.WriteByte(all[i])
		}
	}
	return b.String()
}
