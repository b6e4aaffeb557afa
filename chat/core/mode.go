package core

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/chat/irc"
)

// maxBans limits the bans of a room.
const maxBans = 100

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func (s *Session) cmdMode(m *irc.Message) {
	if irc.IsRoom(m.Params[0]) {
		s.roomMode(m)
	} else {
		s.userMode(m)
	}
}

func (s *Session) userMode(m *irc.Message) {
	u := s.svc.findUser(m.Params[0])
	switch {
	case u == nil:
		s.numeric(irc.ErrNoSuchNick, irc.Cut(m.Params[0], irc.MaxNick), "No such nick")
	case u != s.user:
		s.numeric(irc.ErrUsersDontMatch, "Cannot change mode for other users")
	case len(m.Params) == 1:
		s.numeric(irc.RplUModeIs, u.modes())
	default:
		s.changeUserModes(m.Params[1])
	}
}

func (s *Session) changeUserModes(letters string) {
	on, changed := true, []irc.Change(nil)
	for _, c := range []byte(letters) {
		flag := map[byte]*bool{'B': &s.user.bot, 'i': &s.user.invisible, 'o': &s.user.oper}[c]
		switch {
		case c == '+' || c == '-':
			on = c == '+'
		case flag == nil:
			s.numeric(irc.ErrUModeUnknown, "Unknown MODE flag")
		case *flag != on && (c != 'o' || !on): // no user can grant itself operator rights
			*flag = on
			changed = append(changed, irc.Change{On: on, Mode: c})
		}
	}
	if len(changed) > 0 {
		s.svc.userNotification(s.user, s, "MODE", append([]string{s.user.nick}, irc.FormatChanges(changed)...)...).sendToUser(s.user)
	}
}

func (s *Session) roomMode(m *irc.Message) {
	r := s.svc.rooms[irc.Fold(m.Params[0])]
	if r == nil || !r.isVisibleTo(s.user) {
		s.numeric(irc.ErrNoSuchChannel, irc.Cut(m.Params[0], irc.MaxRoom), "No such channel")
		return
	}
	if len(m.Params) == 1 {
		s.numeric(irc.RplChannelModeIs, append([]string{r.name}, r.modeWords(s.user.rooms[r] != nil)...)...)
		s.numeric(irc.RplCreationTime, r.name, formatEpoch(r.createdAt))
		return
	}
	changes, unknown := irc.Changes(m.Params[1:])
	if len(changes) == 1 && changes[0].Mode == 'b' && changes[0].Param == "" {
		s.sendUnknownModes(unknown)
		s.sendBanList(r)
		return
	}
	if len(changes) == 0 || s.operatedRoom(r.name) == nil {
		s.sendUnknownModes(unknown)
		return
	}
	s.putChange(r, "MODE", func(to *Session, d *draft) {
		to.sendUnknownModes(unknown)
		to.planModes(r, d, changes, s)
	})
}

func (s *Session) sendUnknownModes(letters []byte) {
	for _, c := range letters {
		s.numeric(irc.ErrUnknownMode, string(rune(c)), "is unknown mode char to me")
	}
}

// planModes plans the changes that asker requested. The receiver collects the replies.
func (s *Session) planModes(r *room, d *draft, changes []irc.Change, asker *Session) {
	// no longer, since the command arrived
	if in := r.members[s.user]; !s.user.oper && (in == nil || strings.IndexByte(d.ranksOf(in), 'o') < 0) {
		s.numeric(irc.ErrChanOpNeeded, r.name, "You're not channel operator")
		return
	}
	var done []irc.Change
	for _, c := range changes {
		if c, ok := s.planMode(r, d, c); ok {
			done = append(done, c)
		}
	}
	if len(done) > 0 {
		d.whenApplied(func() {
			words := append([]string{r.name}, irc.FormatChanges(done)...)
			s.svc.userNotification(s.user, nil, "MODE", words...).sendChangeToRoom(r, asker, s)
		})
	}
}

func (s *Session) sendBanList(r *room) {
	for _, b := range r.bans {
		s.numeric(irc.RplBanList, r.name, b.mask, b.setBy, formatEpoch(b.setAt))
	}
	s.numeric(irc.RplEndOfBanList, r.name, "End of channel ban list")
}

// planMode plans one change and returns it as other clients see it; ok is false if it changes
// nothing.
func (s *Session) planMode(r *room, d *draft, c irc.Change) (_ irc.Change, ok bool) {
	switch c.Mode {
	case 'b':
		return s.planBan(r, d, c)
	case 'k':
		return s.planKey(r, d, c)
	case 'l':
		n := atoi(c.Param)
		if c.On && n <= 0 {
			s.numeric(irc.ErrInvalidModeParam, r.name, "l", irc.Word(irc.Cut(c.Param, 32)), "A limit is a number above 0")
		}
		if c.On == (n == 0) || n < 0 || d.memberLimit == n {
			return c, false
		}
		d.memberLimit = n
		return c, true
	case 'o', 'v':
		return s.planRank(r, d, c)
	}
	if d.hasFlag(c.Mode) == c.On {
		return c, false
	}
	d.flags = setModeLetter(d.flags, c.Mode, c.On, irc.RoomFlags)
	return c, true
}

func (s *Session) planBan(r *room, d *draft, c irc.Change) (irc.Change, bool) {
	if c.Param == "" {
		return c, false
	}
	if irc.Word(c.Param) != c.Param { // it could be neither shown nor stored
		s.numeric(irc.ErrInvalidModeParam, r.name, "b", "*", "A mask is one word, and does not begin with a colon")
		return c, false
	}
	c.Param = irc.Cut(irc.CleanMask(c.Param), 128)
	i := slices.IndexFunc(d.bans, func(b ban) bool { return irc.Fold(b.mask) == irc.Fold(c.Param) })
	switch {
	case c.On && i < 0 && len(d.bans) < maxBans:
		d.bans = append(d.bans, ban{c.Param, s.user.nick, s.svc.now})
		return c, true
	case c.On && i < 0:
		s.numeric(irc.ErrBanListFull, r.name, "b", "Channel ban list is full")
	case !c.On && i >= 0:
		d.bans = slices.Delete(d.bans, i, i+1)
		return c, true
	}
	return c, false
}

func (s *Session) planKey(r *room, d *draft, c irc.Change) (irc.Change, bool) {
	switch {
	case !c.On && d.joinKey != "":
		d.joinKey, c.Param = "", "*"
		return c, true
	case !c.On:
		return c, false
	case len(c.Param) > irc.MaxKey || strings.ContainsAny(c.Param, ", :"):
		s.numeric(irc.ErrInvalidKey, r.name, "Key is not well-formed")
		return c, false
	}
	d.joinKey = c.Param
	return c, true
}

// planRank grants or revokes a rank. An account keeps its ranks when it is offline.
func (s *Session) planRank(r *room, d *draft, c irc.Change) (irc.Change, bool) {
	u := s.findMember(r, c.Param)
	if u == nil {
		return c, false
	}
	ranks := d.ranksOf(r.members[u])
	if strings.IndexByte(ranks, c.Mode) >= 0 == c.On {
		return c, false
	}
	ranks = setModeLetter(ranks, c.Mode, c.On, irc.RoomRanks)
	d.memberRanks[u] = ranks
	if u.account != "" {
		d.setAccountRanks(irc.Fold(u.account), ranks)
	}
	c.Param = u.nick
	return c, true
}

// setModeLetter adds a letter to a set or removes it. The set has the order of all.
func setModeLetter(set string, letter byte, on bool, all string) string {
	var b strings.Builder
	for i := range len(all) {
		if all[i] == letter && on || all[i] != letter && strings.IndexByte(set, all[i]) >= 0 {
			b.WriteByte(all[i])
		}
	}
	return b.String()
}

// settings are the stored properties of a room besides its name, messages and members: the contents
// of its state file. Only the commit task of the room changes them, after the change is on disk:
// see change.go.
type settings struct {
	createdAt   time.Time
	formerNames []string // former names, folded

	topic, topicSetBy string // "": none
	topicSetAt        time.Time
	flags             string // letters of irc.RoomFlags
	joinKey           string // "": none
	memberLimit       int    // 0: none
	bans              []ban
	accountRanks      map[string]string // by folded account: letters of irc.RoomRanks

	// Contents of the state file that this version does not know. They are written back unchanged.
	unknownFlags string        // mode letters
	unknownLines []irc.Message // immutable; the first parameter is a name of the room
}

type ban struct {
	mask, setBy string
	setAt       time.Time
}

// newSettings returns the settings of a room that is created now.
func newSettings(now time.Time) settings {
	return settings{createdAt: now, flags: "nt", accountRanks: map[string]string{}}
}

// clone returns a deep copy.
func (x *settings) clone() settings {
	c := *x
	c.formerNames, c.bans, c.accountRanks = slices.Clone(x.formerNames), slices.Clone(x.bans), maps.Clone(x.accountRanks)
	return c
}

func (x *settings) hasFlag(flag byte) bool { return strings.IndexByte(x.flags, flag) >= 0 }

// modeWords returns the room's modes as RPL_CHANNELMODEIS (324) shows them. Only members see the
// key.
func (x *settings) modeWords(member bool) []string {
	words := []string{"+" + x.flags}
	if x.joinKey != "" {
		words[0] += "k"
		if words = append(words, "*"); member {
			words[1] = x.joinKey
		}
	}
	if x.memberLimit > 0 {
		words[0] += "l"
		words = append(words, strconv.Itoa(x.memberLimit))
	}
	return words
}

// setAccountRanks replaces the ranks of an account; "" removes them.
func (x *settings) setAccountRanks(account, ranks string) {
	if x.accountRanks[account] = ranks; ranks == "" {
		delete(x.accountRanks, account)
	}
}

// addFormerName records a former name of the room.
func (x *settings) addFormerName(name string) {
	if name = irc.Fold(name); !slices.Contains(x.formerNames, name) {
		x.formerNames = append(x.formerNames, name)
	}
}
