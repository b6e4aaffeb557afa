package core

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/chat/account"
	"weir/chat/data"
	"weir/chat/irc"
)

// Metadata (draft/metadata-2 and its successor draft/metadata-3,
// https://github.com/ircv3/ircv3-specifications/pull/613) are keys and values that users set for
// themselves, and operators for their rooms. Metadata of accounts and rooms are on disk before the
// reply. Those of a guest end with the guest's last session.

// Limits of draft/metadata-2.
const (
	maxMetadataKeys       = 16  // keys of a user or room
	maxMetadataSubs       = 32  // subscribed keys of a session
	maxMetadataKeyBytes   = 64  // bytes
	maxMetadataValueBytes = 300 // bytes
	maxSyncValues         = 500 // values sent at once, so that they fit into the outbox
)

// metadataTarget is a user or room with metadata. Its map of values is replaced and never modified,
// so that a job can read it.
type metadataTarget struct {
	name string
	user *user
	room *room
	path string // path of its file; "" for a guest
}

func (d metadataTarget) values() map[string]string {
	if d.room != nil {
		return d.room.metadata
	}
	return d.user.metadata
}

func (d metadataTarget) set(values map[string]string) {
	if d.room != nil {
		d.room.metadata = values
	} else {
		d.user.metadata = values
	}
}

// resolveMetadataTarget returns the user or room that a target names; ok is false if the session
// may not see it.
func (s *Session) resolveMetadataTarget(target string) (d metadataTarget, ok bool) {
	if irc.IsRoom(target) {
		r := s.svc.rooms[irc.Fold(target)]
		if r == nil || !r.isVisibleTo(s.user) {
			return d, false
		}
		return metadataTarget{name: r.name, room: r, path: r.metadataPath()}, true
	}
	u := s.user
	if target != "*" {
		u = s.svc.findUser(target)
	}
	if u == nil {
		return d, false
	}
	if d = (metadataTarget{name: u.nick, user: u}); u.account != "" {
		d.path = account.MetadataFile(u.account)
	}
	return d, true
}

func (s *Session) cmdMetadata(m *irc.Message) {
	target, sub, args := m.Params[0], strings.ToUpper(m.Params[1]), m.Params[2:]
	if target == allTargets && sub == "SYNC" && s.has(irc.CapMetadata3) {
		s.syncAllMetadata(s.metadataSubs)
		return
	}
	d, ok := s.resolveMetadataTarget(target)
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
		s.batchReplies("metadata", d.name, func() { s.sendMetadata(d, args) })
	case "LIST":
		s.batchReplies("metadata", d.name, func() { s.sendMetadata(d, slices.Sorted(maps.Keys(d.values()))) })
	case "SYNC":
		s.syncMetadata(d, s.metadataSubs)
	case "SET":
		s.charge(rewriteCost - 1)
		s.setMetadata(target, args)
	case "CLEAR":
		s.charge(rewriteCost - 1)
		s.startTask(func() { s.storeMetadata(target, "*", "") })
	case "SUB":
		s.subscribeMetadata(args)
	case "UNSUB":
		s.unsubscribeMetadata(args)
	case "SUBS":
		s.batchReplies("metadata-subs", "", func() { s.sendKeys(irc.RplMetadataSubs, s.metadataSubs) })
	default:
		s.failMetadata("SUBCOMMAND_INVALID", "INVALID_PARAMS", irc.Word(irc.Cut(sub, 32)), "Unknown subcommand")
	}
}

// failMetadata replies with the FAIL code of draft/metadata-2, or with code3 to clients of
// draft/metadata-3.
func (s *Session) failMetadata(code, code3 string, context ...string) {
	if s.has(irc.CapMetadata3) {
		code = code3
	}
	s.fail("METADATA", code, context...)
}

// sendMetadata replies with the values of keys.
func (s *Session) sendMetadata(d metadataTarget, keys []string) {
	for _, key := range keys {
		if value, ok := d.values()[key]; ok {
			s.numeric(irc.RplKeyValue, d.name, key, "*", value)
		} else if s.checkMetadataKey(key, "WARN") {
			s.numeric(irc.RplKeyNotSet, d.name, key, "key not set")
		}
	}
}

// checkMetadataKey reports whether a key is valid. If not, it replies with FAIL, or with severity
// to clients of draft/metadata-3.
func (s *Session) checkMetadataKey(key, severity string) bool {
	valid := key != "" && len(key) <= maxMetadataKeyBytes && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_./-") == ""
	if !valid {
		const reason = "A key is letters, digits and _ . / -"
		if key := irc.Word(irc.Cut(key, maxMetadataKeyBytes)); s.has(irc.CapMetadata3) {
			s.reply(severity, "METADATA", "INVALID_KEY", key, reason)
		} else {
			s.fail("METADATA", "KEY_INVALID", key, reason)
		}
	}
	return valid
}

func (s *Session) setMetadata(target string, args []string) {
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
	case !s.checkMetadataKey(key, "FAIL"):
	case len(value) > maxMetadataValueBytes && s.has(irc.CapMetadata3):
		s.fail("METADATA", "INVALID_VALUE", key, "A value has at most "+itoa(maxMetadataValueBytes)+" bytes")
	case len(value) > maxMetadataValueBytes:
		s.fail("METADATA", "VALUE_INVALID", "A value has at most "+itoa(maxMetadataValueBytes)+" bytes")
	default:
		s.startTask(func() { s.storeMetadata(target, key, value) })
	}
}

// storeMetadata sets a key, deletes it if the value is "", or deletes all keys if the key is "*".
// It is a task.
func (s *Session) storeMetadata(target, key, value string) {
	svc := s.svc
	svc.opening.lock(s.task) // one writer; and no room is closed or renamed meanwhile
	defer svc.opening.unlock()
	s.loadMetadataOf(target)
	if !s.isActive() {
		return
	}
	d, next := s.planMetadata(target, key, value)
	if next == nil {
		return
	}
	if d.path != "" {
		var err error
		text := encodeMetadata(d.name, next)
		s.task.await(func() { err = svc.env.Storage.ReplaceFile(d.path, text) })
		if err != nil {
			svc.fixed.Log.Error("metadata cannot be written", "of", d.name, "error", err)
			s.fail("METADATA", "RATE_LIMITED", d.name, irc.Word(key), "60", "It was not stored: "+publicError(err))
			return
		}
	}
	before := d.values()
	d.set(next)
	s.notifyMetadataChange(d, key, before)
}

// loadMetadataOf loads the metadata of an account whose user has just logged in and whose own task
// has not loaded them yet: a change replaces the whole file. It is a task.
func (s *Session) loadMetadataOf(target string) {
	d, ok := s.resolveMetadataTarget(target)
	if !ok || d.user == nil || d.path == "" || d.user.metadata != nil {
		return
	}
	if values := s.readAccountMetadata(d.user.account); d.user.metadata == nil {
		d.user.metadata = values
	}
}

// planMetadata returns the target's values after a change. Next is nil if the change is refused,
// which it replies.
func (s *Session) planMetadata(target, key, value string) (d metadataTarget, next map[string]string) {
	d, ok := s.resolveMetadataTarget(target)
	_, had := d.valuesIf(ok)[key]
	switch {
	case !ok:
		s.fail("METADATA", "INVALID_TARGET", irc.Cut(target, irc.MaxRoom), "There is no such user or room")
	case !s.canSetMetadata(d):
		s.fail("METADATA", "KEY_NO_PERMISSION", d.name, key, "You may change your own metadata, and those of rooms that you operate")
	case key == "*":
		return d, map[string]string{}
	case value == "" && !had && s.has(irc.CapMetadata3):
		s.sendMetadata(d, []string{key}) // it is not set, as requested
	case value == "" && !had:
		s.fail("METADATA", "KEY_NOT_SET", d.name, key, "The key is not set")
	case value != "" && !had && len(d.values()) >= maxMetadataKeys && s.has(irc.CapMetadata3):
		s.fail("METADATA", "LIMIT_REACHED", d.name, itoa(maxMetadataKeys), "The limit of keys is reached")
	case value != "" && !had && len(d.values()) >= maxMetadataKeys:
		s.fail("METADATA", "LIMIT_REACHED", d.name, "The limit of keys is reached")
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

func (d metadataTarget) valuesIf(known bool) map[string]string {
	if !known {
		return nil
	}
	return d.values()
}

// canSetMetadata reports whether the session may change the metadata of a target: its own user, or
// a room that it operates.
func (s *Session) canSetMetadata(d metadataTarget) bool {
	if s.user.oper || d.user == s.user {
		return true
	}
	return d.room != nil && s.user.rooms[d.room] != nil && s.user.rooms[d.room].isOperator()
}

// notifyMetadataChange replies with the changed values and notifies the subscribers of their keys.
func (s *Session) notifyMetadataChange(d metadataTarget, key string, before map[string]string) {
	if key != "*" {
		s.sendMetadata(d, []string{key})
		s.notifySubscribers(d, key)
		return
	}
	keys := slices.Sorted(maps.Keys(before))
	s.batchReplies("metadata", d.name, func() { s.sendMetadata(d, keys) })
	for _, key := range keys {
		s.notifySubscribers(d, key)
	}
}

// A metadata file has a line "METADATA NAME KEY * :VALUE" for each key. Rooms have theirs beside
// their log, accounts in the folder "metadata".

func (r *room) metadataPath() string { return data.RoomPath(r.name) + "/metadata" }

// readMetadata reads a metadata file. The result is never nil, and empty if there is no file. It
// waits for the disk.
func (s *Core) readMetadata(path string) map[string]string {
	values := map[string]string{}
	data, err := s.env.Storage.ReadFile(path)
	if err != nil {
		s.fixed.Log.Warn("metadata cannot be read", "error", err)
	}
	for line := range bytes.Lines(data) {
		m, err := ircmsg.ParseLine(string(line))
		if err == nil && m.Command == "METADATA" && len(m.Params) == 4 && len(values) < maxMetadataKeys {
			values[m.Params[1]] = irc.Cut(m.Params[3], maxMetadataValueBytes)
		}
	}
	return values
}

// encodeMetadata returns the contents of a metadata file.
func encodeMetadata(name string, values map[string]string) (b []byte) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		b = irc.AppendLine(b, "", "METADATA", name, key, "*", values[key])
	}
	return b
}

// loadMetadata loads the account's metadata, unless another session of it has, and sends them to
// the session. It is a task.
func (s *Session) loadMetadata() {
	values := s.readAccountMetadata(s.login.Name)
	if !s.isActive() {
		return
	}
	if s.user.metadata == nil {
		s.user.metadata = values
	}
	if !s.has(irc.CapMetadata3) { // a client of draft/metadata-3 got them before the MOTD
		s.sendOwnMetadata()
	}
}

// readAccountMetadata returns the metadata of an account, never nil. It is a task.
func (s *Session) readAccountMetadata(name string) (values map[string]string) {
	path := account.MetadataFile(name)
	s.task.await(func() { values = s.svc.readMetadata(path) })
	return values
}

// sendOwnMetadata sends a session the metadata of its user, if the client has requested a version
// of draft/metadata. A client of draft/metadata-3 is sent them in the welcome, before the MOTD. A
// client of draft/metadata is sent them after the welcome, or when it requests the capability
// later.
func (s *Session) sendOwnMetadata() {
	if s.caps.HasMetadata() {
		u := s.user
		s.batchReplies("metadata", u.nick, func() { s.sendMetadataValues(u.nick, u.metadata, slices.Sorted(maps.Keys(u.metadata)), maxSyncValues) })
	}
}
