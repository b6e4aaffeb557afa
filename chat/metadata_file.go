package chat

import (
	"bytes"
	"maps"
	"slices"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/chat/account"
	"weir/chat/irc"
)

// A metadata file has a line "METADATA NAME KEY * :VALUE" for each key. Rooms have theirs beside
// their log, accounts in the folder "metadata".

func (r *room) metadataPath() string { return roomPath(r.name) + "/metadata" }

// readMetadata reads a metadata file. The result is never nil, and empty if there is no file. It
// waits for the disk.
func (s *core) readMetadata(path string) map[string]string {
	values := map[string]string{}
	data, err := s.env.storage.ReadFile(path)
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
func (s *session) loadMetadata() {
	values := s.readAccountMetadata(s.login.Name)
	if !s.isActiveLocked() {
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
func (s *session) readAccountMetadata(name string) (values map[string]string) {
	path := account.MetadataFile(name)
	s.task.await(func() { values = s.svc.readMetadata(path) })
	return values
}

// sendOwnMetadata sends a session the metadata of its user, if the client has requested a version
// of draft/metadata. A client of draft/metadata-3 is sent them in the welcome, before the MOTD. A
// client of draft/metadata is sent them after the welcome, or when it requests the capability
// later.
func (s *session) sendOwnMetadata() {
	if s.caps.HasMetadata() {
		u := s.user
		s.batchReplies("metadata", u.nick, func() { s.sendMetadataValues(u.nick, u.metadata, slices.Sorted(maps.Keys(u.metadata)), maxSyncValues) })
	}
}
