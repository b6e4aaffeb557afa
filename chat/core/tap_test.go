package core

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/chat/account"
	"weir/chat/data"
	"weir/chat/environment"
	"weir/chat/log"
	"weir/internal/disk"
)

// tapStorage is a storage that tells a model which calls were made and what they returned.
type tapStorage struct {
	environment.Storage
	w *world
}

// tapLog is a log of a tapStorage.
type tapLog struct {
	environment.Log
	w *world
}

// tap wraps an environment.
func (w *world) tap(env *environment.Environment) {
	env.Storage = &tapStorage{env.Storage, w}
	env.Accounts = &tapAccounts{env.Accounts, w}
}

// OpenLog implements environment.Storage. The model compares all lines of the log.
func (s *tapStorage) OpenLog(path string) (environment.Log, error) {
	l, err := s.Storage.OpenLog(path)
	if err != nil {
		s.w.model.unopened[path] = true
		return l, err
	}
	lines, err := l.After(0, maxLines)
	if err == nil {
		s.w.model.adoptLog(l.ID(), lines, l.First())
	}
	return &tapLog{l, s.w}, nil
}

// maxLines is more than a log of a world has.
const maxLines = 1 << 20

// ReplaceFile implements environment.Storage. An error leaves the old or the new contents.
func (s *tapStorage) ReplaceFile(path string, contents []byte) error {
	err := s.Storage.ReplaceFile(path, contents)
	if err == nil {
		s.w.trace("stored %s", path)
		delete(s.w.model.unsureFiles, path)
	} else {
		s.w.trace("not stored %s: %v", path, err)
		s.w.model.unsureFiles[path] = true
	}
	return err
}

// DeleteRoom implements environment.Storage.
func (s *tapStorage) DeleteRoom(name string) error {
	id, _ := disk.ReadFile(s.w.proc, filepath.Join(dataDir, data.RoomPath(name), "id"))
	room := s.w.model.log(strings.TrimSpace(string(id)))
	room.deleting = true
	err := s.Storage.DeleteRoom(name)
	room.deleted = err == nil
	s.w.trace("deleted %s (%s): %v", name, s.w.alias(room.id), err)
	return err
}

// Append implements environment.Log.
func (l *tapLog) Append(entries []log.Entry) (log.Batch, error) {
	room := l.w.model.log(l.ID())
	var tokens []string
	for _, e := range entries {
		tokens = append(tokens, tokenOf(e.Body))
	}
	room.inDoubt = append(room.inDoubt, tokens...)
	batch, err := l.Log.Append(entries)
	switch {
	case l.w.hasEnded(): // in doubt
	case err == nil:
		l.w.model.commit(room, batch.Lines)
	default:
		l.w.model.refuse(room, tokens)
	}
	return batch, err
}

// Close implements environment.Log. It cuts what was refused.
func (l *tapLog) Close() error {
	err := l.Log.Close()
	if err == nil && !l.w.hasEnded() {
		room := l.w.model.log(l.ID())
		room.cut, room.inDoubt = append(room.cut, room.inDoubt...), nil
	}
	return err
}

// Redact implements environment.Log.
func (l *tapLog) Redact(offsets ...int64) error {
	room := l.w.model.log(l.ID())
	room.redact(offsets, unsure)
	err := l.Log.Redact(offsets...)
	if err == nil {
		room.redact(offsets, yes)
	}
	return err
}

// Retain implements environment.Log.
func (l *tapLog) Retain(age time.Duration, bytes int64, now time.Time) (int64, error) {
	room := l.w.model.log(l.ID())
	hadFailed := room.retaining
	room.retaining, room.retainEnd = true, l.Committed()
	removed, err := l.Log.Retain(age, bytes, now)
	l.w.trace("retention of %s: removed %d bytes, the first line is at %d: %v", l.w.alias(l.ID()), removed, l.First(), err)
	if err == nil {
		room.first, room.retaining = l.First(), false
	}
	if err == nil && hadFailed {
		lines, _ := l.After(0, maxLines)
		room.entries = slices.DeleteFunc(room.entries, func(e *entry) bool {
			return !slices.ContainsFunc(lines, func(line log.Line) bool { return line.Offset() == e.offset })
		})
	}
	return removed, err
}

// tapAccounts are accounts whose passwords are compared without the cost of a hash.
type tapAccounts struct {
	environment.Accounts
	w *world
}

// Plain implements environment.Accounts.
func (a *tapAccounts) Plain(authcid, password string) (account.Login, error) {
	name, device, err := account.Split(authcid)
	found := a.Lookup(name)
	if err != nil || found == nil || password != worldPassword {
		return account.Login{}, account.ErrLoginFailed
	}
	return account.Login{Account: found, Device: device}, nil
}

// SaveReadMarker implements environment.Accounts.
func (a *tapAccounts) SaveReadMarker(name, device, id string, offset int64) error {
	err := a.Accounts.SaveReadMarker(name, device, id, offset)
	if err == nil {
		key := markerOf{name, id}
		a.w.model.markers[key] = max(a.w.model.markers[key], offset)
	}
	return err
}

// Ban implements environment.Accounts.
func (a *tapAccounts) Ban(b account.Ban) (account.Ban, error) {
	a.w.model.bans[b.Pattern] = unsure
	b, err := a.Accounts.Ban(b)
	if err == nil {
		a.w.model.bans[b.Pattern] = yes
	}
	return b, err
}

// Unban implements environment.Accounts.
func (a *tapAccounts) Unban(pattern string) error {
	before := a.w.model.bans[pattern]
	a.w.model.bans[pattern] = unsure
	err := a.Accounts.Unban(pattern)
	if err == nil {
		a.w.model.bans[pattern] = no
	} else if before == no {
		a.w.model.bans[pattern] = no
	}
	return err
}
