package chat

import (
	"slices"
	"strings"

	"weir/chat/irc"
)

// maxWho bounds the answer to a WHO of a mask.
const maxWho = 500

func (s *session) cmdWho(m *irc.Message) {
	mask := m.Params[0]
	fields, token, whox := "", "", false
	if len(m.Params) > 1 {
		fields, token, whox = irc.ParseWhox(m.Params[1])
	}
	answer := func(u *user, r *room, at *member) {
		if whox {
			s.whox(fields, token, u, r, at)
		} else {
			s.whoLine(u, r, at)
		}
	}
	if r := s.svc.rooms[irc.Fold(mask)]; r != nil {
		if r.sees(s.user) {
			for u, at := range r.members {
				if s.user.sees(u) {
					answer(u, r, at)
				}
			}
		}
	} else if u := s.svc.find(mask); u != nil {
		answer(u, nil, nil)
	} else if strings.ContainsAny(mask, "*?") {
		left, whole := maxWho, irc.CleanMask(mask)
		s.charge(len(s.svc.users) / walk)
		for _, u := range s.svc.users {
			if left > 0 && s.user.sees(u) && (irc.Match(mask, u.nick) || irc.Match(whole, u.source)) {
				answer(u, nil, nil)
				left--
			}
		}
	}
	s.num(irc.RplEndOfWho, irc.Cut(mask, irc.MaxRoom), "End of WHO list")
}

// whoFlags are a user's state, and its rank where it is asked about in a room.
func (s *session) whoFlags(u *user, at *member) string {
	if at == nil {
		return u.flags()
	}
	return u.flags() + at.prefix(s.has(irc.CapMultiPrefix))
}

func roomName(r *room) string {
	if r == nil {
		return "*"
	}
	return r.name
}

func (s *session) whoLine(u *user, r *room, at *member) {
	s.num(irc.RplWhoReply, roomName(r), u.name, u.host, s.svc.o.Name, u.nick, s.whoFlags(u, at), "0 "+u.real)
}

// whox answers with the fields that were asked for, in the protocol's order.
func (s *session) whox(fields, token string, u *user, r *room, at *member) {
	account := u.account
	if account == "" {
		account = "0"
	}
	rank := "n/a"
	values := map[byte]string{'t': token, 'c': roomName(r), 'u': u.name, 'i': "255.255.255.255", 'h': u.host, 's': s.svc.o.Name, 'n': u.nick,
		'f': s.whoFlags(u, at), 'd': "0", 'l': itoa(int(s.svc.o.Now().Sub(u.spoke).Seconds())), 'a': account, 'o': rank, 'r': u.real}
	var params []string
	for _, f := range []byte(irc.WhoxFields) {
		if strings.IndexByte(fields, f) >= 0 {
			params = append(params, values[f])
		}
	}
	s.num(irc.RplWhoSpcRpl, params...)
}

func (s *session) cmdWhois(m *irc.Message) {
	if len(m.Params) == 0 {
		s.num(irc.ErrNoNick, "No nickname given")
		return
	}
	nick := m.Params[len(m.Params)-1]
	u := s.svc.find(nick)
	if u == nil {
		s.num(irc.ErrNoSuchNick, irc.Cut(nick, irc.MaxNick), "No such nick")
		s.num(irc.RplEndOfWhois, irc.Cut(nick, irc.MaxNick), "End of WHOIS list")
		return
	}
	s.num(irc.RplWhoisUser, u.nick, u.name, u.host, "*", u.real)
	if rooms := s.roomsOf(u); len(rooms) > 0 {
		for _, line := range irc.Wrap(rooms, 400) {
			s.num(irc.RplWhoisChannels, u.nick, line+" ")
		}
	}
	s.num(irc.RplWhoisServer, u.nick, s.svc.o.Name, s.svc.o.Network)
	if u.oper {
		s.num(irc.RplWhoisOperator, u.nick, "is an IRC operator")
	}
	if u.account != "" {
		s.num(irc.RplWhoisAccount, u.nick, u.account, "is logged in as")
	}
	if !slices.ContainsFunc(u.sessions, func(s *session) bool { return !s.peer.Secure }) {
		s.num(irc.RplWhoisSecure, u.nick, "is using a secure connection")
	}
	if u.bot {
		s.num(irc.RplWhoisBot, u.nick, "is a bot")
	}
	if s.user.oper || u == s.user {
		for _, session := range u.sessions {
			s.num(irc.RplWhoisHost, u.nick, "is connecting from "+session.peer.Addr.String())
			if session.peer.Fingerprint != "" {
				s.num(irc.RplWhoisCertFP, u.nick, "has client certificate fingerprint "+session.peer.Fingerprint)
			}
		}
	}
	if u.away != "" {
		s.num(irc.RplAway, u.nick, u.away)
	}
	s.num(irc.RplWhoisIdle, u.nick, itoa(int(s.svc.o.Now().Sub(u.spoke).Seconds())), epoch(u.since), "seconds idle, signon time")
	s.num(irc.RplEndOfWhois, u.nick, "End of WHOIS list")
}

// roomsOf are the rooms of a user that the session may know of.
func (s *session) roomsOf(u *user) []string {
	var names []string
	for r, at := range u.rooms {
		if s.user.oper || u == s.user || s.user.rooms[r] != nil || !r.has('s') && !u.invisible {
			names = append(names, at.prefix(s.has(irc.CapMultiPrefix))+r.name)
		}
	}
	slices.Sort(names)
	return names
}
