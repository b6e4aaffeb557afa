package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/chat/irc"
)

// Commands that describe the server, besides those in info.go.

// sendISupport sends the supported features.
func (s *Session) sendISupport() {
	svc := s.svc
	words := irc.ISupport(irc.Limits{Network: svc.fixed.Network, Rooms: svc.Options().MaxRoomsPerUser, History: svc.Options().MaxHistory, Monitor: maxMonitor,
		Bans: maxBans, Targets: maxTargets, Upload: svc.Options().UploadURL})
	for line := range slices.Chunk(words, 12) { // a line has at most 15 parameters
		s.numeric(irc.RplISupport, append(line[:len(line):len(line)], "are supported by this server")...)
	}
}

func (s *Session) cmdVersion(*irc.Message) {
	s.numeric(irc.RplVersion, version, s.svc.fixed.Name, "")
	s.sendISupport()
}

// cmdStats answers STATS u with the uptime; users see no other statistics.
func (s *Session) cmdStats(m *irc.Message) {
	query := irc.Cut(m.Params[0], 1)
	if query == "u" {
		up := s.svc.now.Sub(s.svc.startedAt)
		days := int(up / (24 * time.Hour))
		up -= time.Duration(days) * 24 * time.Hour
		s.numeric(irc.RplStatsUptime, fmt.Sprintf("Server Up %d days %d:%02d:%02d", days, int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60))
	}
	s.numeric(irc.RplEndOfStats, query, "End of STATS report")
}

// cmdLinks answers LINKS: there is one server.
func (s *Session) cmdLinks(*irc.Message) {
	s.numeric(irc.RplLinks, s.svc.fixed.Name, s.svc.fixed.Name, "0 "+s.svc.fixed.Network)
	s.numeric(irc.RplEndOfLinks, "*", "End of LINKS list")
}

// cmdHelp lists the commands.
func (s *Session) cmdHelp(m *irc.Message) {
	subject := strings.ToUpper(irc.Param(m, 0))
	if _, known := irc.Commands[subject]; subject != "" && !known {
		s.numeric(irc.ErrHelpNotFound, irc.Word(irc.Cut(subject, 64)), "No help available on this topic")
		return
	}
	if subject == "" {
		subject = "*"
	}
	s.numeric(irc.RplHelpStart, subject, "Commands of this server:")
	for _, line := range irc.Wrap(slices.Sorted(maps.Keys(irc.Commands)), 300) {
		s.numeric(irc.RplHelpTxt, subject, line)
	}
	s.numeric(irc.RplEndOfHelp, subject, "What they do is at modern.ircdocs.horse and ircv3.net")
}

func (s *Session) cmdLusers(*irc.Message) {
	svc := s.svc
	known, hidden, opers := 0, 0, 0
	for _, u := range svc.users {
		known++
		if u.invisible {
			hidden++
		}
		if u.oper {
			opers++
		}
	}
	online := itoa(svc.sessionCount - svc.unregisteredCount)
	s.numeric(irc.RplLUserClient, "There are "+itoa(known-hidden)+" users and "+itoa(hidden)+" invisible on 1 servers")
	s.numeric(irc.RplLUserOp, itoa(opers), "operator(s) online")
	s.numeric(irc.RplLUserUnknown, itoa(svc.unregisteredCount), "unknown connection(s)")
	s.numeric(irc.RplLUserChannels, itoa(len(svc.rooms)), "channels formed")
	s.numeric(irc.RplLUserMe, "I have "+online+" clients and 0 servers")
	s.numeric(irc.RplLocalUsers, online, itoa(svc.peakSessions), "Current local users "+online+", max "+itoa(svc.peakSessions))
	s.numeric(irc.RplGlobalUsers, online, itoa(svc.peakSessions), "Current global users "+online+", max "+itoa(svc.peakSessions))
}

func (s *Session) cmdMOTD(*irc.Message) {
	if s.svc.Options().MOTD == "" {
		s.numeric(irc.ErrNoMOTD, "MOTD File is missing")
		return
	}
	s.numeric(irc.RplMOTDStart, "- "+s.svc.fixed.Name+" Message of the day -")
	for line := range strings.SplitSeq(strings.TrimRight(s.svc.Options().MOTD, "\r\n"), "\n") {
		s.numeric(irc.RplMOTD, "- "+irc.Cut(strings.TrimRight(line, "\r"), 380))
	}
	s.numeric(irc.RplEndOfMOTD, "End of MOTD command")
}

func (s *Session) cmdTime(*irc.Message) {
	s.numeric(irc.RplTime, s.svc.fixed.Name, s.svc.now.UTC().Format("Mon, 02 Jan 2006 15:04:05 UTC"))
}

func (s *Session) cmdAdmin(*irc.Message) {
	s.numeric(irc.ErrNoAdminInfo, s.svc.fixed.Name, "No administrative info available")
}

func (s *Session) cmdInfo(*irc.Message) {
	s.numeric(irc.RplInfo, version+": a chat that never loses an acknowledged message")
	s.numeric(irc.RplEndOfInfo, "End of INFO list")
}

const (
	maxList      = 1500 // rooms in one answer to LIST; the largest are kept
	maxListWords = 32   // conditions of one LIST; each is compared with every room
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

func (s *Session) cmdList(m *irc.Message) {
	asked := parseList(irc.Param(m, 0), s.svc.now)
	conditions := min(strings.Count(irc.Param(m, 0), ",")+1, maxListWords)
	s.chargeItems(len(s.svc.rooms) * conditions)
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

// maxWho bounds the answer to WHO with a mask.
const maxWho = 500

func (s *Session) cmdWho(m *irc.Message) {
	mask := m.Params[0]
	fields, token, whox := "", "", false
	if len(m.Params) > 1 {
		fields, token, whox = irc.ParseWhox(m.Params[1])
	}
	answer := func(u *user, r *room, at *member) {
		if whox {
			s.sendWhox(fields, token, u, r, at)
		} else {
			s.sendWho(u, r, at)
		}
	}
	if r := s.svc.rooms[irc.Fold(mask)]; r != nil {
		if r.isVisibleTo(s.user) {
			s.chargeItems(len(r.members))
			for u, at := range r.members {
				if s.user.canSee(u) {
					answer(u, r, at)
				}
			}
		}
	} else if u := s.svc.findUser(mask); u != nil {
		answer(u, nil, nil)
	} else if strings.ContainsAny(mask, "*?") {
		left, whole := maxWho, irc.CleanMask(mask)
		s.chargeItems(len(s.svc.users))
		for _, u := range s.svc.users {
			if left > 0 && s.user.canSee(u) && (irc.Match(mask, u.nick) || irc.Match(whole, u.source)) {
				answer(u, nil, nil)
				left--
			}
		}
	}
	s.numeric(irc.RplEndOfWho, irc.Cut(mask, irc.MaxRoom), "End of WHO list")
}

// whoFlags returns a user's state, with its rank if the query is for a room.
func (s *Session) whoFlags(u *user, at *member) string {
	if at == nil {
		return u.whoFlags()
	}
	return u.whoFlags() + at.prefix(s.has(irc.CapMultiPrefix))
}

func roomNameOrStar(r *room) string {
	if r == nil {
		return "*"
	}
	return r.name
}

func (s *Session) sendWho(u *user, r *room, at *member) {
	s.numeric(irc.RplWhoReply, roomNameOrStar(r), u.name, u.host, s.svc.fixed.Name, u.nick, s.whoFlags(u, at), "0 "+u.realname)
}

// sendWhox replies with the requested fields, in the order of the protocol.
func (s *Session) sendWhox(fields, token string, u *user, r *room, at *member) {
	account := u.account
	if account == "" {
		account = "0"
	}
	values := map[byte]string{'t': token, 'c': roomNameOrStar(r), 'u': u.name, 'i': "255.255.255.255", 'h': u.host, 's': s.svc.fixed.Name, 'n': u.nick,
		'f': s.whoFlags(u, at), 'd': "0", 'l': itoa(int(s.svc.now.Sub(u.lastSpokeAt).Seconds())), 'a': account, 'o': "n/a", 'r': u.realname}
	var params []string
	for _, f := range []byte(irc.WhoxFields) {
		if strings.IndexByte(fields, f) >= 0 {
			params = append(params, values[f])
		}
	}
	s.numeric(irc.RplWhoSpcRpl, params...)
}

func (s *Session) cmdWhois(m *irc.Message) {
	if len(m.Params) == 0 {
		s.numeric(irc.ErrNoNick, "No nickname given")
		return
	}
	nick := m.Params[len(m.Params)-1]
	u := s.svc.findUser(nick)
	if u == nil {
		s.numeric(irc.ErrNoSuchNick, irc.Cut(nick, irc.MaxNick), "No such nick")
		s.numeric(irc.RplEndOfWhois, irc.Cut(nick, irc.MaxNick), "End of WHOIS list")
		return
	}
	s.numeric(irc.RplWhoisUser, u.nick, u.name, u.host, "*", u.realname)
	if rooms := s.visibleRooms(u); len(rooms) > 0 {
		for _, line := range irc.Wrap(rooms, 400) {
			s.numeric(irc.RplWhoisChannels, u.nick, line+" ")
		}
	}
	s.numeric(irc.RplWhoisServer, u.nick, s.svc.fixed.Name, s.svc.fixed.Network)
	if u.oper {
		s.numeric(irc.RplWhoisOperator, u.nick, "is an IRC operator")
	}
	if u.account != "" {
		s.numeric(irc.RplWhoisAccount, u.nick, u.account, "is logged in as")
	}
	if !slices.ContainsFunc(u.sessions, func(s *Session) bool { return !s.peer.Secure }) {
		s.numeric(irc.RplWhoisSecure, u.nick, "is using a secure connection")
	}
	if u.bot {
		s.numeric(irc.RplWhoisBot, u.nick, "is a bot")
	}
	if s.user.oper || u == s.user {
		for _, session := range u.sessions {
			s.numeric(irc.RplWhoisHost, u.nick, "is connecting from "+session.peer.Addr.String())
			if session.peer.Fingerprint != "" {
				s.numeric(irc.RplWhoisCertFP, u.nick, "has client certificate fingerprint "+session.peer.Fingerprint)
			}
		}
	}
	if u.away != "" {
		s.numeric(irc.RplAway, u.nick, u.away)
	}
	s.numeric(irc.RplWhoisIdle, u.nick, itoa(int(s.svc.now.Sub(u.lastSpokeAt).Seconds())), formatEpoch(u.connectedAt), "seconds idle, signon time")
	s.numeric(irc.RplEndOfWhois, u.nick, "End of WHOIS list")
}

// visibleRooms returns the rooms of a user that the session may see.
func (s *Session) visibleRooms(u *user) []string {
	var names []string
	for r, at := range u.rooms {
		if s.user.oper || u == s.user || s.user.rooms[r] != nil || !r.hasFlag('s') && !u.invisible {
			names = append(names, at.prefix(s.has(irc.CapMultiPrefix))+r.name)
		}
	}
	slices.Sort(names)
	return names
}
