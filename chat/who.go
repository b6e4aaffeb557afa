package chat

import (
	"slices"
	"strings"

	"weir/chat/irc"
)

// maxWho bounds the answer to WHO with a mask.
const maxWho = 500

func (s *session) cmdWho(m *irc.Message) {
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
		s.charge(len(s.svc.users) / itemsPerCommand)
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
func (s *session) whoFlags(u *user, at *member) string {
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

func (s *session) sendWho(u *user, r *room, at *member) {
	s.numeric(irc.RplWhoReply, roomNameOrStar(r), u.name, u.host, s.svc.fixed.Name, u.nick, s.whoFlags(u, at), "0 "+u.realname)
}

// sendWhox replies with the requested fields, in the order of the protocol.
func (s *session) sendWhox(fields, token string, u *user, r *room, at *member) {
	account := u.account
	if account == "" {
		account = "0"
	}
	rank := "n/a"
	values := map[byte]string{'t': token, 'c': roomNameOrStar(r), 'u': u.name, 'i': "255.255.255.255", 'h': u.host, 's': s.svc.fixed.Name, 'n': u.nick,
		'f': s.whoFlags(u, at), 'd': "0", 'l': itoa(int(s.svc.now.Sub(u.lastSpokeAt).Seconds())), 'a': account, 'o': rank, 'r': u.realname}
	var params []string
	for _, f := range []byte(irc.WhoxFields) {
		if strings.IndexByte(fields, f) >= 0 {
			params = append(params, values[f])
		}
	}
	s.numeric(irc.RplWhoSpcRpl, params...)
}

func (s *session) cmdWhois(m *irc.Message) {
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
	if !slices.ContainsFunc(u.sessions, func(s *session) bool { return !s.peer.Secure }) {
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
func (s *session) visibleRooms(u *user) []string {
	var names []string
	for r, at := range u.rooms {
		if s.user.oper || u == s.user || s.user.rooms[r] != nil || !r.hasFlag('s') && !u.invisible {
			names = append(names, at.prefix(s.has(irc.CapMultiPrefix))+r.name)
		}
	}
	slices.Sort(names)
	return names
}
