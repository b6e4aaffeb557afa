package data

import (
	"errors"
	"os"
	"path/filepath"

	"weir/internal/durable"
)

// ErrTaken is the error of a name that a room has, or that is the former name of another room.
var ErrTaken = errors.New("the name is taken")

// newLink is the temporary name of a new link.
const newLink = ".renamed"

// Rename renames the folder of a room and leaves a link with the old name. A crash at any moment
// leaves the folder complete under one of the two names; where the system can exchange two names
// (Linux), it also leaves the link. The room's log may be open: it finds its files through the
// link. Only one call may run at a time, while no caller opens or closes the room.
func Rename(dir, from, to string) error {
	rooms, old, name := filepath.Join(dir, Rooms), Folder(from), Folder(to)
	if len(name) > maxFolder {
		return ErrName
	}
	if err := checkFree(filepath.Join(rooms, old), filepath.Join(rooms, name)); err != nil {
		return err
	}
	// points to itself until the exchange
	if err := link(rooms, name, name); err != nil {
		return err
	}
	if err := exchange(rooms, old, name); err != nil {
		return errors.Join(err, os.Remove(filepath.Join(rooms, name)))
	}
	return durable.SyncDir(rooms)
}

// Undo reverses Rename and removes the link.
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

// checkFree returns ErrTaken if a folder cannot get a name. A link to the folder itself and a
// dangling link are no obstacle.
func checkFree(folder, name string) error {
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

// link creates a link, or changes where it points.
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

// moveAndLink replaces exchange on systems without it. A crash between its steps loses only the
// link.
func moveAndLink(rooms, old, name string) error {
	if err := os.Remove(filepath.Join(rooms, name)); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(rooms, old), filepath.Join(rooms, name)); err != nil {
		return err
	}
	return link(rooms, old, name)
}

// Renamed returns the present name of a room by a former name. It removes a dangling link, which a
// crash or a deleted room has left: the name is free again. It must not run during Rename.
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
	return readRoom(dir, Rooms, filepath.Base(to)).Name, true
}

// Relink creates the link of a former name again if the name is free: a copy of a data directory
// has no links.
func Relink(dir, old, now string) error {
	rooms := filepath.Join(dir, Rooms)
	if _, err := os.Lstat(filepath.Join(rooms, Folder(old))); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return link(rooms, Folder(old), Folder(now))
}
