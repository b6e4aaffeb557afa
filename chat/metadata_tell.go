package chat

import (
	"slices"

	"weir/chat/irc"
)

// tellMetadata tells those who subscribed to a key what it is now: members of the room, or those who share a room with the user or watch
// it.
func (s *session) tellMetadata(d described, key string) {
	params := []string{d.name, key, "*"}
	if value, ok := d.values()[key]; ok {
		params = append(params, value)
	}
	n := s.svc.news(s.user, s, "METADATA", params...)
	n.quiet, n.need = true, irc.CapMetadata
	hear := func(session *session) {
		if slices.Contains(session.subs, key) {
			n.tell(session)
		}
	}
	if d.room != nil {
		for _, seat := range d.room.seats {
			if seat.live {
				hear(seat.session)
			}
		}
		return
	}
	s.svc.neighbours(d.user, func(u *user) {
		for _, session := range u.sessions {
			hear(session)
		}
	})
	for session := range s.svc.monitors[irc.Fold(d.name)] {
		if session.user != nil && session.user.stamp != s.svc.stamp && session.has(irc.CapExtendedMonitor) {
			hear(session)
		}
	}
}

// metadataLines tells at most so many of the values that keys have, and returns how many more it may.
func (s *session) metadataLines(name string, values map[string]string, keys []string, most int) int {
	for _, key := range keys {
		if value, ok := values[key]; ok && most > 0 {
			s.say("METADATA", name, key, "*", value)
			most--
		}
	}
	return most
}

// syncMetadata tells the values of keys: a user's, or a room's and its members'. The room's own come first, if they are too many.
func (s *session) syncMetadata(d described, keys []string) {
	s.batchReplies("metadata", d.name, func() {
		left := s.metadataLines(d.name, d.values(), keys, maxSync)
		if d.room == nil {
			return
		}
		for u := range d.room.members {
			if s.user.sees(u) {
				left = s.metadataLines(u.nick, u.metadata, keys, left)
			}
		}
	})
}

// joinedMetadata tells a session that joins a room what it subscribed to, if there is something.
func (s *session) joinedMetadata(r *room) {
	if !s.has(irc.CapMetadata) || len(s.subs) == 0 || s.user.rooms[r] == nil {
		return
	}
	said := hasOne(r.metadata, s.subs)
	for u := range r.members {
		said = said || hasOne(u.metadata, s.subs)
	}
	if said {
		s.syncMetadata(described{name: r.name, room: r}, s.subs)
	}
}

func hasOne(values map[string]string, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { _, ok := values[key]; return ok })
}

// subscribe has the session told of keys from now on, and what they are now.
func (s *session) subscribe(keys []string) {
	var done, added []string
	for _, key := range keys {
		if !s.goodKey(key) {
			continue
		}
		if !slices.Contains(s.subs, key) {
			if len(s.subs) >= maxSubs {
				s.fail("METADATA", "TOO_MANY_SUBS", key, "There are as many subscriptions as there may be")
				break
			}
			s.subs = append(s.subs, key)
			added = append(added, key)
		}
		done = append(done, key)
	}
	s.keysIn(irc.RplMetadataSubOK, done)
	left := maxSync
	for r := range s.user.rooms {
		left = s.metadataLines(r.name, r.metadata, added, left)
	}
	s.svc.neighbours(s.user, func(u *user) { left = s.metadataLines(u.nick, u.metadata, added, left) })
}

func (s *session) unsubscribe(keys []string) {
	var done []string
	for _, key := range keys {
		if s.goodKey(key) {
			s.subs = slices.DeleteFunc(s.subs, func(k string) bool { return k == key })
			done = append(done, key)
		}
	}
	s.keysIn(irc.RplMetadataUnsubOK, done)
}

// keysIn lists keys, in several lines where they are many.
func (s *session) keysIn(code string, keys []string) {
	for some := range slices.Chunk(keys, 6) {
		s.num(code, some...)
	}
}
