package data

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"weir/internal/durable"
)

// ErrTaken is the error of a name that a room has, or that is the former name of another room.
var ErrTaken = errors.New("the name is taken")

// newLink is the temporary name of a new link.
const newLink = ".renamed"

// Rename renames the folder of a room and leaves a link with the old name. A crash at any moment
// leaves the folder complete under one of the two names; where the system can exchange two names
// (Linux), it also leaves the link. The room's log may be open: it finds its files through the
// link. Only one call may run at a time, while no caller opens or closes the room. After an error
// the folder has its old name, unless the error is that of undoing the change.
func Rename(dir, from, to string) error { return Dir{Path: dir}.Rename(from, to) }

// Rename is the package's Rename in d.
func (d Dir) Rename(from, to string) error {
	rooms, old, name := d.rooms(), Folder(from), Folder(to)
	if len(name) > maxFolder {
		return ErrName
	}
	if err := d.checkFree(filepath.Join(rooms, old), filepath.Join(rooms, name)); err != nil {
		return err
	}
	// points to itself until the exchange
	if err := d.link(name, name); err != nil {
		return err
	}
	if err := d.exchange(old, name); err != nil {
		return errors.Join(err, d.disk().Remove(filepath.Join(rooms, name)))
	}
	if err := d.syncRooms(); err != nil {
		return errors.Join(err, d.Undo(from, to))
	}
	return nil
}

func (d Dir) rooms() string { return filepath.Join(d.Path, Rooms) }

func (d Dir) syncRooms() error { return durable.Files{Disk: d.Disk}.SyncDir(d.rooms()) }

// Undo reverses Rename and removes the link.
func Undo(dir, from, to string) error { return Dir{Path: dir}.Undo(from, to) }

// Undo is the package's Undo in d. After an error of the disk's sync, the folder has its old name
// until a loss of power, which may undo that.
func (d Dir) Undo(from, to string) error {
	if err := d.exchange(Folder(to), Folder(from)); err != nil {
		return err
	}
	// before the link is removed: a loss of power could undo the exchange, and remove the folder
	if err := d.syncRooms(); err != nil {
		return err
	}
	return errors.Join(d.disk().Remove(filepath.Join(d.rooms(), Folder(to))), d.syncRooms())
}

// checkFree returns ErrTaken if a folder cannot get a name. A link to the folder itself and a
// dangling link are no obstacle.
func (d Dir) checkFree(folder, name string) error {
	there, err := d.disk().Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if there.Mode()&os.ModeSymlink == 0 {
		return ErrTaken
	}
	if to, err := d.disk().Stat(name); err == nil {
		if self, err := d.disk().Stat(folder); err != nil || !d.disk().SameFile(to, self) {
			return ErrTaken
		}
	}
	return nil
}

// link creates a link, or changes where it points.
func (d Dir) link(name, to string) error {
	made := filepath.Join(d.rooms(), newLink)
	if err := d.disk().Remove(made); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := d.disk().Symlink(to, made); err != nil {
		return err
	}
	return d.disk().Rename(made, filepath.Join(d.rooms(), name))
}

// exchange swaps the names of the folder old and the link name in one step, or in several where the
// file system cannot.
func (d Dir) exchange(old, name string) error {
	err := d.disk().Exchange(filepath.Join(d.rooms(), old), filepath.Join(d.rooms(), name))
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return d.moveAndLink(old, name)
	}
	return err
}

// moveAndLink replaces exchange on systems without it. A crash between its steps loses only the
// link.
func (d Dir) moveAndLink(old, name string) error {
	if err := d.disk().Remove(filepath.Join(d.rooms(), name)); err != nil {
		return err
	}
	if err := d.disk().Rename(filepath.Join(d.rooms(), old), filepath.Join(d.rooms(), name)); err != nil {
		return err
	}
	return d.link(old, name)
}

// Renamed returns the present name of a room by a former name. It removes a dangling link, which a
// crash or a deleted room has left: the name is free again. It must not run during Rename.
func Renamed(dir, name string) (now string, ok bool) { return Dir{Path: dir}.Renamed(name) }

// Renamed is the package's Renamed in d.
func (d Dir) Renamed(name string) (now string, ok bool) {
	path := filepath.Join(d.rooms(), Folder(name))
	info, err := d.disk().Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		return "", false
	}
	to, err := d.follow(path)
	if err != nil {
		if d.syncRooms() == nil { // see Undo
			d.disk().Remove(path)
		}
		return "", false
	}
	return d.readRoom(Rooms, filepath.Base(to)).Name, true
}

// maxLinks limits the links from a former name to the present one, as the system does.
const maxLinks = 40

// follow returns where a link leads. A loop and a dangling link are errors.
func (d Dir) follow(path string) (string, error) {
	for range maxLinks {
		info, err := d.disk().Lstat(path)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			return path, err
		}
		to, err := d.disk().Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", &os.PathError{Op: "follow", Path: path, Err: unix.ELOOP}
}

// Relink creates the link of a former name again if the name is free: a copy of a data directory
// has no links.
func Relink(dir, old, now string) error { return Dir{Path: dir}.Relink(old, now) }

// Relink is the package's Relink in d.
func (d Dir) Relink(old, now string) error {
	if _, err := d.disk().Lstat(filepath.Join(d.rooms(), Folder(old))); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return d.link(Folder(old), Folder(now))
}
