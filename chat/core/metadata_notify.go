package core

import (
	"slices"

	"weir/chat/irc"
)

// notifySubscribers sends the value of a key to the sessions that subscribed to it: members of the
// room, or users that share a room with the user or monitor it.
func (s *Session) notifySubscribers(d metadataTarget, key string) {
	params := []string{d.name, key, "*"}
	if value, ok := d.values()[key]; ok {
		params = append(params, value)
	}
	n := s.svc.userNotification(s.user, s, "METADATA", params...)
	n.skipRequester, n.requiredCaps = true, irc.CapMetadata
	notify := func(session *Session) {
		switch {
		case !slices.Contains(session.metadataSubs, key):
		case !session.has(irc.CapMetadata3):
			n.sendTo(session)
		case session != s:
			to := session.replyCollector()
			to.sendMetadata(d, []string{key})
			if !session.conn.Send(to.replies) {
				s.svc.closeSlow(session)
			}
		}
	}
	if d.room != nil {
		for _, sub := range d.room.subscriptions {
			if sub.state == live {
				notify(sub.session)
			}
		}
		return
	}
	s.svc.eachNeighbour(d.user, func(u *user) {
		for _, session := range u.sessions {
			notify(session)
		}
	})
	for session := range s.svc.monitors[irc.Fold(d.name)] {
		if session.user != nil && session.user.walkStamp != s.svc.lastStamp && (session.has(irc.CapExtendedMonitor) || session.has(irc.CapMetadata3)) {
			notify(session)
		}
	}
}

// sendMetadataValues sends at most so many values of keys, and returns how many more may be sent.
func (s *Session) sendMetadataValues(name string, values map[string]string, keys []string, limit int) int {
	for _, key := range keys {
		value, ok := values[key]
		switch {
		case !ok || limit <= 0:
			continue
		case s.has(irc.CapMetadata3):
			s.numeric(irc.RplKeyValue, name, key, "*", value)
		default:
			s.reply("METADATA", name, key, "*", value)
		}
		limit--
	}
	return limit
}

// syncMetadata sends the values of keys of a user, or of a room and its members. Those of the room
// come first, in case there are too many.
func (s *Session) syncMetadata(d metadataTarget, keys []string) {
	s.batchReplies("metadata", d.name, func() {
		left := s.sendMetadataValues(d.name, d.values(), keys, maxSyncValues)
		if d.room == nil {
			return
		}
		s.chargeItems(len(d.room.members))
		for u := range d.room.members {
			if s.user.canSee(u) {
				left = s.sendMetadataValues(u.nick, u.metadata, keys, left)
			}
		}
	})
}

// allTargets is the target by which draft/metadata-3 requests the metadata of all rooms and users
// that the client may see.
const allTargets = "*ALL"

// syncAllMetadata sends the values of keys of all rooms, neighbours and monitored users.
func (s *Session) syncAllMetadata(keys []string) {
	s.batchReplies("metadata", allTargets, func() { s.sendAllMetadata(keys) })
}

func (s *Session) sendAllMetadata(keys []string) {
	left := maxSyncValues
	for r := range s.user.rooms {
		left = s.sendMetadataValues(r.name, r.metadata, keys, left)
	}
	s.chargeItems(s.svc.eachNeighbour(s.user, func(u *user) {
		if s.user.canSee(u) {
			left = s.sendMetadataValues(u.nick, u.metadata, keys, left)
		}
	}))
	if !s.has(irc.CapMetadata3) {
		return
	}
	for _, nick := range s.monitored {
		if u := s.svc.users[nick]; u != nil && u.walkStamp != s.svc.lastStamp {
			left = s.sendMetadataValues(u.nick, u.metadata, keys, left)
		}
	}
}

// syncMonitoredMetadata sends a client of draft/metadata-3 the values of its subscribed keys for
// monitored users that are online.
func (s *Session) syncMonitoredMetadata(watched ...*user) {
	if !s.has(irc.CapMetadata3 | irc.CapBatch) {
		return
	}
	for _, u := range watched {
		s.syncMetadata(metadataTarget{name: u.nick, user: u}, s.metadataSubs)
	}
}

// syncJoinedMetadata sends a session that has joined a room the values of its subscribed keys, if
// there are any.
func (s *Session) syncJoinedMetadata(r *room) {
	if !s.caps.HasMetadata() || s.user.rooms[r] == nil {
		return
	}
	hasValues := s.has(irc.CapMetadata3) // expects a batch, even an empty one
	hasValues = hasValues || hasAnyKey(r.metadata, s.metadataSubs)
	for u := range r.members {
		hasValues = hasValues || hasAnyKey(u.metadata, s.metadataSubs)
	}
	if hasValues {
		s.syncMetadata(metadataTarget{name: r.name, room: r}, s.metadataSubs)
	}
}

func hasAnyKey(values map[string]string, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { _, ok := values[key]; return ok })
}

// subscribeMetadata subscribes the session to keys and sends their current values.
func (s *Session) subscribeMetadata(keys []string) {
	var done, added []string
	full := "" // the first key beyond the limit
	for _, key := range keys {
		if !s.checkMetadataKey(key, "WARN") {
			continue
		}
		if !slices.Contains(s.metadataSubs, key) {
			if len(s.metadataSubs) >= maxMetadataSubs {
				full = key
				break
			}
			s.metadataSubs = append(s.metadataSubs, key)
			added = append(added, key)
		}
		done = append(done, key)
	}
	s.sendKeys(irc.RplMetadataSubOK, done)
	const reason = "The limit of subscriptions is reached"
	switch {
	case full == "":
	case s.has(irc.CapMetadata3):
		s.fail("METADATA", "LIMIT_REACHED", full, itoa(maxMetadataSubs), reason)
	default:
		s.fail("METADATA", "TOO_MANY_SUBS", full, reason)
	}
	switch {
	case !s.has(irc.CapMetadata3):
		s.sendAllMetadata(added)
	case len(added) > 0:
		s.syncAllMetadata(added)
	}
}

func (s *Session) unsubscribeMetadata(keys []string) {
	var done []string
	for _, key := range keys {
		if s.checkMetadataKey(key, "WARN") {
			s.metadataSubs = slices.DeleteFunc(s.metadataSubs, func(k string) bool { return k == key })
			done = append(done, key)
		}
	}
	s.sendKeys(irc.RplMetadataUnsubOK, done)
}

// sendKeys replies with keys, in several lines if there are many.
func (s *Session) sendKeys(code string, keys []string) {
	for some := range slices.Chunk(keys, 6) {
		s.numeric(code, some...)
	}
}
