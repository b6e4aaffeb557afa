package chat

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ergochat/irc-go/ircmsg"

	"weir/chat/irc"
	"weir/internal/durable"
)

// A file of metadata has a line "METADATA NAME KEY * :VALUE" for each key: rooms have it beside
// their log, accounts in the folder metadata.

func (r *room) metadataPath() string { return filepath.Join(filepath.Dir(r.path), "metadata") }

// readMetadata reads a file; one that is not there says nothing. It is never nil.
func (s *Service) readMetadata(path string) map[string]string {
	values := map[string]string{}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.o.Log.Warn("metadata cannot be read", "error", err)
	}
	for line := range bytes.Lines(data) {
		m, err := ircmsg.ParseLine(string(line))
		if err == nil && m.Command == "METADATA" && len(m.Params) == 4 && len(values) < maxKeys {
			values[m.Params[1]] = irc.Cut(m.Params[3], maxValue)
		}
	}
	return values
}

// writeMetadata replaces a file, on the disk when it returns.
func writeMetadata(path, name string, values map[string]string) error {
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(values)) {
		b = irc.AppendLine(b, "", "METADATA", name, key, "*", values[key])
	}
	err := durable.ReplaceFile(path, b, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // the first of all
		if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return durable.ReplaceFile(path, b, 0o600)
	}
	return err
}

// loadMetadata takes over what the account has said of itself, unless another of its sessions has,
// and tells the session. It runs at the desk.
func (s *session) loadMetadata() {
	values := s.svc.readMetadata(s.svc.accounts.MetadataPath(s.login.Name))
	s.svc.locked(func() {
		if s.user == nil || s.gone {
			return
		}
		if s.user.metadata == nil {
			s.user.metadata = values
		}
		if !s.has(irc.CapMetadata3) { // which had it before the end of the MOTD
			s.ownMetadata()
		}
	})
}

// ownMetadata tells a session what is said of its user, as the draft wants once it can hear it.
func (s *session) ownMetadata() {
	if s.capSet().HearsMetadata() {
		u := s.user
		s.batchReplies("metadata", u.nick, func() { s.metadataLines(u.nick, u.metadata, slices.Sorted(maps.Keys(u.metadata)), maxSync) })
	}
}
