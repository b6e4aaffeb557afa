package chat

import (
	"slices"

	"weir/chat/irc"
)

// tellMetadata tells those who subscribed to a key what it is now: members of the room, or those
// who share a room with the user or watch it.
func (s *session) tellMetadata(d described, key string) {
	params := []string{d.name, key, "*"}
	if value, ok := d.values()[key]; ok {
		params = append(params, value)
	}
	n := s.svc.news(s.user, s, "METADATA", params...)
	n.quiet, n.need = true, irc.CapMetadata
	hear := func(session *session) {
		switch {
		case !slices.Contains(session.subs, key):
		case !session.has(irc.CapMetadata3):
			n.tell(session)
		case session != s:
			to := session.standIn()
			to.getMetadata(d, []string{key})
			if !session.conn.Send(to.out) {
				s.svc.tooSlow(session)
			}
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
		if session.user != nil && session.user.stamp != s.svc.stamp && (session.has(irc.CapExtendedMonitor) || session.has(irc.CapMetadata3)) {
			hear(session)
		}
	}
}

// metadataLines tells at most so many of the values that keys have, and returns how many more it
// may.
func (s *session) metadataLines(name string, values map[string]string, keys []string, most int) int {
	for _, key := range keys {
		value, ok := values[key]
		switch {
		case !ok || most <= 0:
			continue
		case s.has(irc.CapMetadata3):
			s.num(irc.RplKeyValue, name, key, "*", value)
		default:
			s.say("METADATA", name, key, "*", value)
		}
		most--
	}
	return most
}

// syncMetadata tells the values of keys: a user's, or a room's and its members'. The room's own
// come first, if they are too many.
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

// allTargets is what a client of draft/metadata-3 calls everybody whose metadata it is told.
const allTargets = "*ALL"

// syncAll tells the values of keys of all rooms, neighbours and watched users.
func (s *session) syncAll(keys []string) {
	s.batchReplies("metadata", allTargets, func() { s.valuesOfAll(keys) })
}

func (s *session) valuesOfAll(keys []string) {
	left := maxSync
	for r := range s.user.rooms {
		left = s.metadataLines(r.name, r.metadata, keys, left)
	}
	s.svc.neighbours(s.user, func(u *user) {
		if s.user.sees(u) {
			left = s.metadataLines(u.nick, u.metadata, keys, left)
		}
	})
	if !s.has(irc.CapMetadata3) {
		return
	}
	for _, nick := range s.monitors {
		if u := s.svc.users[nick]; u != nil && u.stamp != s.svc.stamp {
			left = s.metadataLines(u.nick, u.metadata, keys, left)
		}
	}
}

// monitoredMetadata tells a client of draft/metadata-3 what it subscribed to of users that it
// watches, who are there.
func (s *session) monitoredMetadata(watched ...*user) {
	if !s.has(irc.CapMetadata3 | irc.CapBatch) {
		return
	}
	for _, u := range watched {
		s.syncMetadata(described{name: u.nick, user: u}, s.subs)
	}
}

// joinedMetadata tells a session that joins a room what it subscribed to, if there is something.
func (s *session) joinedMetadata(r *room) {
	if !s.capSet().HearsMetadata() || s.user.rooms[r] == nil {
		return
	}
	said := s.has(irc.CapMetadata3) // which expects a batch, whatever is in it
	said = said || hasOne(r.metadata, s.subs)
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
	full := "" // the first key for which there is no room
	for _, key := range keys {
		if !s.goodKey(key, "WARN") {
			continue
		}
		if !slices.Contains(s.subs, key) {
			if len(s.subs) >= maxSubs {
				full = key
				break
			}
			s.subs = append(s.subs, key)
			added = append(added, key)
		}
		done = append(done, key)
	}
	s.keysIn(irc.RplMetadataSubOK, done)
	const why = "There are as many subscriptions as there may be"
	switch {
	case full == "":
	case s.has(irc.CapMetadata3):
		s.fail("METADATA", "LIMIT_REACHED", full, itoa(maxSubs), why)
	default:
		s.fail("METADATA", "TOO_MANY_SUBS", full, why)
	}
	switch {
	case !s.has(irc.CapMetadata3):
		s.valuesOfAll(added)
	case len(added) > 0:
		s.syncAll(added)
	}
}

func (s *session) unsubscribe(keys []string) {
	var done []string
	for _, key := range keys {
		if s.goodKey(key, "WARN") {
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
