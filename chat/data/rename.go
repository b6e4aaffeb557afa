package data

import (
	"errors"
	"os"
	"path/filepath"

	"weir/internal/durable"
)

// ErrTaken means that a room has a name already, or had it and leads those who look for it to its
// new one.
var ErrTaken = errors.New("the name is taken")

// newLink is a link that is being made.
const newLink = ".renamed"

// Rename gives the folder of a room another name, and leaves a link of the old name that leads to
// it. A crash at any moment leaves the folder whole under one of the two names; where the system
// can exchange two names (Linux), also the link. The room's log may be open: it goes on finding its
// files through the link. One caller at a time, and nobody who opens or closes the room.
func Rename(dir, from, to string) error {
	rooms, old, name := filepath.Join(dir, Rooms), Folder(from), Folder(to)
	if len(name) > maxFolder {
		return ErrName
	}
	if err := free(filepath.Join(rooms, old), filepath.Join(rooms, name)); err != nil {
		return err
	}
	// to itself, until it changes places with the folder
	if err := link(rooms, name, name); err != nil {
		return err
	}
	if err := exchange(rooms, old, name); err != nil {
		return errors.Join(err, os.Remove(filepath.Join(rooms, name)))
	}
	return durable.SyncDir(rooms)
}

// Undo gives a folder that was renamed its old name back, and no link leads to it by the new one.
func Undo(dir, from, to string) error {
	if err := Rename(dir, to, from); err != nil {
		return err
	}
	rooms := filepath.Join(dir, Rooms)
	if err := os.Remove(filepath.Join(rooms, Folder(to))); err != nil {
		return err
	}
	return durable.SyncDir(rooms)
}

// free says why a folder cannot be called so. A link to that folder is none of another room's, and
// one that leads nowhere says nothing.
func free(folder, name string) error {
	there, err := os.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if there.Mode()&os.ModeSymlink == 0 {
		return ErrTaken
	}
	if to, err := os.Stat(name); err == nil {
		if self, err := os.Stat(folder); err != nil || !os.SameFile(to, self) {
			return ErrTaken
		}
	}
	return nil
}

// link makes a link, or has the one that is there lead elsewhere.
func link(rooms, name, to string) error {
	made := filepath.Join(rooms, newLink)
	if err := os.Remove(made); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Symlink(to, made); err != nil {
		return err
	}
	return os.Rename(made, filepath.Join(rooms, name))
}

// moveAndLink is for systems that cannot exchange names. A crash between its steps loses the link
// and nothing else.
func moveAndLink(rooms, old, name string) error {
	if err := os.Remove(filepath.Join(rooms, name)); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(rooms, old), filepath.Join(rooms, name)); err != nil {
		return err
	}
	return link(rooms, old, name)
}

// Renamed says what a room is called now that had this name. A link that leads nowhere, as a crash
// or the end of a room leaves behind, is removed: the name is free. Not while Rename is called.
func Renamed(dir, name string) (now string, ok bool) {
	path := filepath.Join(dir, Rooms, Folder(name))
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		return "", false
	}
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		os.Remove(path)
		return "", false
	}
	return open(dir, Rooms, filepath.Base(to)).Name, true
}

// Relink has an old name of a room lead to it again, if nothing has that name: a copy of a data
// directory has no links.
func Relink(dir, old, now string) error {
	rooms := filepath.Join(dir, Rooms)
	if _, err := os.Lstat(filepath.Join(rooms, Folder(old))); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return link(rooms, Folder(old), Folder(now))
}
