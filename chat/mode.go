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
	if len(changes) == 1 && changes[0].Mode == 'b' && changes[0].Param == "" {
		s.unknownModes(unknown)
		s.banList(r)
		return
	}
	if len(changes) == 0 || s.roomOfOps(r.name) == nil {
		s.unknownModes(unknown)
		return
	}
	s.change(r, "MODE", func(to *session, d *draft) {
		to.unknownModes(unknown)
		to.planModes(r, d, changes, s)
	})
}

func (s *session) unknownModes(letters []byte) {
	for _, c := range letters {
		s.num(irc.ErrUnknownMode, string(rune(c)), "is unknown mode char to me")
	}
}

// planModes plans changes that asker has asked for. The session is the one that collects its
// replies.
func (s *session) planModes(r *room, d *draft, changes []irc.Change, asker *session) {
	// no more, since the command came
	if in := r.members[s.user]; !s.user.oper && (in == nil || strings.IndexByte(d.ranksOf(in), 'o') < 0) {
		s.num(irc.ErrChanOpNeeded, r.name, "You're not channel operator")
		return
	}
	var done []irc.Change
	for _, c := range changes {
		if c, ok := s.planMode(r, d, c); ok {
			done = append(done, c)
		}
	}
	if len(done) > 0 {
		d.once(func() {
			words := append([]string{r.name}, irc.FormatChanges(done)...)
			s.svc.news(s.user, nil, "MODE", words...).tellChange(r, asker, s)
		})
	}
}

func (s *session) banList(r *room) {
	for _, b := range r.bans {
		s.num(irc.RplBanList, r.name, b.mask, b.by, epoch(b.at))
	}
	s.num(irc.RplEndOfBanList, r.name, "End of channel ban list")
}

// planMode plans one change, and returns it as others see it; ok is false when nothing changes.
func (s *session) planMode(r *room, d *draft, c irc.Change) (_ irc.Change, ok bool) {
	switch c.Mode {
	case 'b':
		return s.planBan(r, d, c)
	case 'k':
		return s.planKey(r, d, c)
	case 'l':
		n := number(c.Param)
		if c.On && n <= 0 {
			s.num(irc.ErrInvalidModeParam, r.name, "l", irc.Word(irc.Cut(c.Param, 32)), "A limit is a number above 0")
		}
		if c.On == (n == 0) || n < 0 || d.limit == n {
			return c, false
		}
		d.limit = n
		return c, true
	case 'o', 'v':
		return s.planRank(r, d, c)
	}
	if d.has(c.Mode) == c.On {
		return c, false
	}
	d.flags = setLetter(d.flags, c.Mode, c.On, irc.RoomFlags)
	return c, true
}

func (s *session) planBan(r *room, d *draft, c irc.Change) (irc.Change, bool) {
	if c.Param == "" {
		return c, false
	}
	if irc.Word(c.Param) != c.Param { // it could not be shown, nor stored
		s.num(irc.ErrInvalidModeParam, r.name, "b", "*", "A mask is one word, and does not begin with a colon")
		return c, false
	}
	c.Param = irc.Cut(irc.CleanMask(c.Param), 128)
	i := slices.IndexFunc(d.bans, func(b ban) bool { return irc.Fold(b.mask) == irc.Fold(c.Param) })
	switch {
	case c.On && i < 0 && len(d.bans) < maxBans:
		d.bans = append(d.bans, ban{c.Param, s.user.nick, s.svc.o.Now()})
		return c, true
	case c.On && i < 0:
		s.num(irc.ErrBanListFull, r.name, "b", "Channel ban list is full")
	case !c.On && i >= 0:
		d.bans = slices.Delete(d.bans, i, i+1)
		return c, true
	}
	return c, false
}

func (s *session) planKey(r *room, d *draft, c irc.Change) (irc.Change, bool) {
	switch {
	case !c.On && d.joinKey != "":
		d.joinKey, c.Param = "", "*"
		return c, true
	case !c.On:
		return c, false
	case len(c.Param) > irc.MaxKey || strings.ContainsAny(c.Param, ", :"):
		s.num(irc.ErrInvalidKey, r.name, "Key is not well-formed")
		return c, false
	}
	d.joinKey = c.Param
	return c, true
}

// planRank gives or takes a rank. An account keeps it when it is not there.
func (s *session) planRank(r *room, d *draft, c irc.Change) (irc.Change, bool) {
	u := s.memberOf(r, c.Param)
	if u == nil {
		return c, false
	}
	ranks := d.ranksOf(r.members[u])
	if strings.IndexByte(ranks, c.Mode) >= 0 == c.On {
		return c, false
	}
	ranks = setLetter(ranks, c.Mode, c.On, irc.RoomRanks)
	d.members[u] = ranks
	if u.account != "" {
		d.rank(irc.Fold(u.account), ranks)
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
