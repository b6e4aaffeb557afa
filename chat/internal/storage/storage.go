// Package storage holds the logs and files of conversations in a data directory, for packages chat
// and chat/core.
//
// # Limitations
//
// It does not lock the data directory: its caller has done that.
package storage

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"weir/chat/data"
	"weir/chat/environment"
	"weir/chat/log"
	"weir/internal/disk"
	"weir/internal/durable"
)

// Storage is a data directory: an [environment.Storage].
type Storage struct {
	dir      string
	disk     disk.FS
	onCommit func(took time.Duration, err error) // called after each append
	report   *slog.Logger
}

// New returns the storage of a data directory on a disk, nil for that of the system.
// OnCommit is called after each append to a log.
func New(dir string, on disk.FS, onCommit func(took time.Duration, err error), report *slog.Logger) *Storage {
	return &Storage{dir, disk.Or(on), onCommit, report}
}

func (d *Storage) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *Storage) files() durable.Files { return durable.Files{Disk: d.disk} }

func (d *Storage) rooms() data.Dir { return data.Dir{Path: d.dir, Disk: d.disk} }

// OpenLog implements [environment.Storage]. After an error it removes the folder if it is unused.
func (d *Storage) OpenLog(path string) (environment.Log, error) {
	l, err := log.Open(d.path(path), log.Options{Disk: d.disk})
	if err != nil {
		if unused := d.removeUnusedFolder(path); unused != nil && !errors.Is(unused, fs.ErrNotExist) {
			err = errors.Join(err, unused)
		}
		return nil, err
	}
	if r := l.Recovery(); r.Kept+r.Cut+r.Lost+r.Bad > 0 {
		d.report.Warn("a log was repaired", "log", path, "kept", r.Kept, "cut", r.Cut, "lost", r.Lost, "bad", r.Bad)
	}
	return &timedLog{l, d.onCommit}, nil
}

// timedLog is a log that reports how long its appends take.
type timedLog struct {
	*log.Log
	onCommit func(took time.Duration, err error)
}

func (l *timedLog) Append(entries []log.Entry) (log.Batch, error) {
	began := time.Now()
	batch, err := l.Log.Append(entries)
	l.onCommit(time.Since(began), err)
	return batch, err
}

// ReadFile implements [environment.Storage].
func (d *Storage) ReadFile(path string) ([]byte, error) {
	contents, err := disk.ReadFile(d.disk, d.path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return contents, err
}

// ReplaceFile implements [environment.Storage].
func (d *Storage) ReplaceFile(path string, contents []byte) error {
	err := d.files().ReplaceFile(d.path(path), contents, 0o600)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) == data.Metadata {
		if err := d.files().MkdirAll(d.path(data.Metadata), 0o700); err != nil {
			return err
		}
		return d.files().ReplaceFile(d.path(path), contents, 0o600)
	}
	return err
}

// CloseLog implements [environment.Storage].
func (d *Storage) CloseLog(path string, l environment.Log) error {
	err := l.Close()
	if d.IsUnused(path, l) {
		err = errors.Join(err, d.disk.RemoveAll(d.path(path)))
	}
	return err
}

// IsUnused implements [environment.Storage]. It reports whether there is neither a message nor
// another file.
func (d *Storage) IsUnused(path string, l environment.Log) bool {
	if l.Committed() > 0 || l.First() > 0 {
		return false
	}
	for _, kept := range []string{"state", "metadata"} {
		if _, err := d.disk.Lstat(filepath.Join(d.path(path), kept)); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// HasRoom implements [environment.Storage]. It reports whether the folder of the room exists.
func (d *Storage) HasRoom(name string) bool {
	_, err := d.disk.Stat(d.path(data.RoomPath(name)))
	return err == nil
}

// DeleteRoom implements [environment.Storage].
func (d *Storage) DeleteRoom(name string) error {
	trash, err := d.disk.MkdirTemp(d.dir, deletedPrefix)
	if err != nil {
		return err
	}
	room, moved := d.path(data.RoomPath(name)), filepath.Join(trash, "room")
	if err := d.disk.Rename(room, moved); err != nil {
		return errors.Join(err, d.disk.Remove(trash))
	}
	// before the rest: a loss of power could bring back a part
	if err := d.files().SyncDir(d.path(data.Rooms)); err != nil {
		return errors.Join(err, d.disk.Rename(moved, room), d.disk.Remove(trash))
	}
	return d.disk.RemoveAll(trash)
}

// Renamed implements [environment.Storage].
func (d *Storage) Renamed(name string) (newName string, ok bool) {
	return d.rooms().Renamed(name)
}

// Relink implements [environment.Storage].
func (d *Storage) Relink(former, name string) error { return d.rooms().Relink(former, name) }

// Rename implements [environment.Storage].
func (d *Storage) Rename(old, name string, state []byte) error {
	if err := d.rooms().Rename(old, name); err != nil {
		return err
	}
	if err := d.files().ReplaceFile(d.path(data.RoomPath(name)+"/state"), state, 0o600); err != nil {
		return errors.Join(err, d.rooms().Undo(old, name))
	}
	return nil
}

// DirectPartners implements [environment.Storage].
func (d *Storage) DirectPartners(account string) (others []string) {
	entries, _ := d.disk.ReadDir(d.path(data.Direct))
	me := data.Folder(account)
	for _, e := range entries {
		a, b, _ := strings.Cut(e.Name(), ",")
		switch me {
		case a:
			others = append(others, data.NameOf(b))
		case b:
			others = append(others, data.NameOf(a))
		}
	}
	return others
}
