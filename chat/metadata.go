package chat

import (
	"maps"
	"slices"
	"strings"

	"weir/chat/irc"
)

// Metadata (draft/metadata-2 and its successor draft/metadata-3,
// https://github.com/ircv3/ircv3-specifications/pull/613) is what users say of themselves, and
// operators of their rooms, in keys and values. What belongs to an account or a room is on the disk
// before it is answered; a guest's goes with the guest.

// Limits of draft/metadata-2.
const (
	maxKeys  = 16  // of a user or room
	maxSubs  = 32  // of a session
	maxKey   = 64  // bytes
	maxValue = 300 // bytes
	maxSync  = 500 // values that a session is told at once: they fit into its outbox
)

// described is a user or a room. Its values are replaced and never changed, so that they can be
// read without the lock.
type described struct {
	name string
	user *user
	room *room
	path string // of its file; "" for a guest, who has none
}

func (d described) values() map[string]string {
	if d.room != nil {
		return d.room.metadata
	}
	return d.user.metadata
}

func (d described) set(values map[string]string) {
	if d.room != nil {
		d.room.metadata = values
	} else {
		d.user.metadata = values
	}
}

// describedBy is whom a target names, as far as the session may know of it.
func (s *session) describedBy(target string) (d described, ok bool) {
	if irc.IsRoom(target) {
		r := s.svc.rooms[irc.Fold(target)]
		if r == nil || !r.sees(s.user) {
			return d, false
		}
		return described{name: r.name, room: r, path: r.metadataPath()}, true
	}
	u := s.user
	if target != "*" {
		u = s.svc.find(target)
	}
	if u == nil {
		return d, false
	}
	if d = (described{name: u.nick, user: u}); u.account != "" {
		d.path = s.svc.accounts.MetadataPath(u.account)
	}
	return d, true
}

func (s *session) cmdMetadata(m *irc.Message) {
	target, sub, args := m.Params[0], strings.ToUpper(m.Params[1]), m.Params[2:]
	if target == allTargets && sub == "SYNC" && s.has(irc.CapMetadata3) {
		s.syncAll(s.subs)
		return
	}
	d, ok := s.describedBy(target)
	if !ok || strings.Contains(sub, "SUB") && s.has(irc.CapMetadata3) && d.user != s.user {
		s.fail("METADATA", "INVALID_TARGET", irc.Word(irc.Cut(target, irc.MaxRoom)), "There is no such user or room")
		return
	}
	for i := range args {
		if i == 0 || sub != "SET" {
			args[i] = strings.ToLower(args[i])
		}
	}
	switch sub {
	case "GET":
		s.batchReplies("metadata", d.name, func() { s.getMetadata(d, args) })
	case "LIST":
		s.batchReplies("metadata", d.name, func() { s.getMetadata(d, slices.Sorted(maps.Keys(d.values()))) })
	case "SYNC":
		s.syncMetadata(d, s.subs)
	case "SET":
		s.charge(rewrite - 1)
		s.setMetadata(target, args)
	case "CLEAR":
		s.charge(rewrite - 1)
		s.slow(func() { s.storeMetadata(target, "*", "") })
	case "SUB":
		s.subscribe(args)
	case "UNSUB":
		s.unsubscribe(args)
	case "SUBS":
		s.batchReplies("metadata-subs", "", func() { s.keysIn(irc.RplMetadataSubs, s.subs) })
	default:
		s.metadataFault("SUBCOMMAND_INVALID", "INVALID_PARAMS", irc.Word(irc.Cut(sub, 32)), "Unknown subcommand")
	}
}

// metadataFault is a FAIL by the code of draft/metadata-2, or by that of draft/metadata-3.
func (s *session) metadataFault(code, code3 string, context ...string) {
	if s.has(irc.CapMetadata3) {
		code = code3
	}
	s.fail("METADATA", code, context...)
}

// getMetadata says what keys are.
func (s *session) getMetadata(d described, keys []string) {
	for _, key := range keys {
		if value, ok := d.values()[key]; ok {
			s.num(irc.RplKeyValue, d.name, key, "*", value)
		} else if s.goodKey(key, "WARN") {
			s.num(irc.RplKeyNotSet, d.name, key, "key not set")
		}
	}
}

// goodKey says whether a key may be called so, and tells the client if not: by a FAIL, or as severe
// as is said to clients of draft/metadata-3.
func (s *session) goodKey(key, severity string) bool {
	good := key != "" && len(key) <= maxKey && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_./-") == ""
	if !good {
		const why = "A key is letters, digits and _ . / -"
		if key := irc.Word(irc.Cut(key, maxKey)); s.has(irc.CapMetadata3) {
			s.say(severity, "METADATA", "INVALID_KEY", key, why)
		} else {
			s.fail("METADATA", "KEY_INVALID", key, why)
		}
	}
	return good
}

func (s *session) setMetadata(target string, args []string) {
	if len(args) == 0 {
		if s.has(irc.CapMetadata3) {
			s.fail("METADATA", "INVALID_PARAMS", "SET", "Missing key")
		} else {
			s.fail("METADATA", "KEY_INVALID", "*", "Missing key")
		}
		return
	}
	key, value := args[0], strings.Join(args[1:], " ")
	switch {
	case !s.goodKey(key, "FAIL"):
	case len(value) > maxValue && s.has(irc.CapMetadata3):
		s.fail("METADATA", "INVALID_VALUE", key, "A value has at most "+itoa(maxValue)+" bytes")
	case len(value) > maxValue:
		s.fail("METADATA", "VALUE_INVALID", "A value has at most "+itoa(maxValue)+" bytes")
	default:
		s.slow(func() { s.storeMetadata(target, key, value) })
	}
}

// storeMetadata sets a key, takes it away if the value is "", or takes all away if it is "*". It
// runs at the desk.
func (s *session) storeMetadata(target, key, value string) {
	svc := s.svc
	svc.opening.Lock() // one writer, and no room is closed or renamed meanwhile
	defer svc.opening.Unlock()
	var d described
	var next map[string]string
	svc.locked(func() {
		if s.user != nil && !s.gone {
			d, next = s.describe(target, key, value)
		}
	})
	if next == nil {
		return
	}
	if d.path != "" {
		if err := writeMetadata(d.path, d.name, next); err != nil {
			svc.o.Log.Error("metadata cannot be written", "of", d.name, "error", err)
			s.fail("METADATA", "RATE_LIMITED", d.name, irc.Word(key), "60", "It was not stored: "+publicError(err))
			return
		}
	}
	svc.locked(func() {
		before := d.values()
		d.set(next)
		s.answerMetadata(d, key, before)
	})
}

// describe is what a change makes of somebody's values; nil when it cannot be, of which the client
// is told.
func (s *session) describe(target, key, value string) (d described, next map[string]string) {
	d, ok := s.describedBy(target)
	_, had := d.valuesOf(ok)[key]
	switch {
	case !ok:
		s.fail("METADATA", "INVALID_TARGET", irc.Cut(target, irc.MaxRoom), "There is no such user or room")
	case !s.mayDescribe(d):
		s.fail("METADATA", "KEY_NO_PERMISSION", d.name, key, "You may not change what is said of others")
	case key == "*":
		return d, map[string]string{}
	case value == "" && !had && s.has(irc.CapMetadata3):
		s.getMetadata(d, []string{key}) // it is as it is to be
	case value == "" && !had:
		s.fail("METADATA", "KEY_NOT_SET", d.name, key, "The key is not set")
	case value != "" && !had && len(d.values()) >= maxKeys && s.has(irc.CapMetadata3):
		s.fail("METADATA", "LIMIT_REACHED", d.name, itoa(maxKeys), "There are as many keys as there may be")
	case value != "" && !had && len(d.values()) >= maxKeys:
		s.fail("METADATA", "LIMIT_REACHED", d.name, "There are as many keys as there may be")
	default:
		next = maps.Clone(d.values())
		if next == nil {
			next = map[string]string{}
		}
		if next[key] = value; value == "" {
			delete(next, key)
		}
	}
	return d, next
}

func (d described) valuesOf(known bool) map[string]string {
	if !known {
		return nil
	}
	return d.values()
}

// mayDescribe says whether the session may change what is said of somebody: of itself, and of a
// room that it operates.
func (s *session) mayDescribe(d described) bool {
	if s.user.oper || d.user == s.user {
		return true
	}
	return d.room != nil && s.user.rooms[d.room] != nil && s.user.rooms[d.room].op()
}

// answerMetadata tells the session, and those who want to hear of it, what has changed since
// before.
func (s *session) answerMetadata(d described, key string, before map[string]string) {
	if key != "*" {
		s.getMetadata(d, []string{key})
		s.tellMetadata(d, key)
		return
	}
	keys := slices.Sorted(maps.Keys(before))
	s.batchReplies("metadata", d.name, func() { s.getMetadata(d, keys) })
	for _, key := range keys {
		s.tellMetadata(d, key)
	}
}
