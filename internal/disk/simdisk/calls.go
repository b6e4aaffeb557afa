package simdisk

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Mkdir implements disk.FS.
func (p *Process) Mkdir(name string, mode fs.FileMode) error {
	return pathError("mkdir", name, p.change(Call{Op: OpMkdir, Name: name}, func(fate) error {
		at, err := p.d.free(name)
		if err != nil {
			return err
		}
		return p.d.add(at, newInode(p.d.rng, fs.ModeDir|mode&0o777))
	}))
}

// Symlink implements disk.FS.
func (p *Process) Symlink(target, name string) error {
	return linkError("symlink", target, name, p.change(Call{Op: OpSymlink, Name: name}, func(fate) error {
		at, err := p.d.free(name)
		if err != nil {
			return err
		}
		if target == "" {
			return unix.ENOENT
		}
		n := newInode(p.d.rng, fs.ModeSymlink|0o777)
		n.target = target
		return p.d.add(at, n)
	}))
}

// Link implements disk.FS.
func (p *Process) Link(from, to string) error {
	return linkError("link", from, to, p.change(Call{Op: OpLink, Name: to}, func(fate) error {
		old, err := p.d.walk(from, false)
		if err != nil {
			return err
		}
		if old.ino == nil {
			return unix.ENOENT
		}
		at, err := p.d.free(to)
		switch {
		case err != nil:
			return err
		case old.ino.isDir():
			return unix.EPERM
		}
		return p.d.add(at, old.ino)
	}))
}

// Rename implements disk.FS.
func (p *Process) Rename(from, to string) error {
	return linkError("rename", from, to, p.change(Call{Op: OpRename, Name: to}, func(fate) error {
		old, at, err := p.d.walkTwo(from, to)
		switch {
		case err != nil:
			return err
		case at.ino != nil && at.ino.isDir() && (from == to || at.ino != old.ino):
			return unix.EEXIST // as package os has it
		case at.ino != nil && at.ino == old.ino:
			return nil // two names of one file stay
		case old.ino.isDir() && contains(old.ino, at.dir):
			return unix.EINVAL
		case old.ino.isDir() && at.ino != nil:
			return unix.ENOTDIR
		}
		p.d.rename(effect{old.dir, old.name, nil}, effect{at.dir, at.name, old.ino})
		return nil
	}))
}

// walkTwo follows two paths. The first one exists, and neither is the root.
func (d *Disk) walkTwo(from, to string) (old, at place, err error) {
	if old, err = d.walk(from, false); err != nil {
		return old, at, err
	}
	if at, err = d.walk(to, false); err != nil {
		return old, at, err
	}
	switch {
	case old.ino == nil:
		err = unix.ENOENT
	case old.dir == nil || at.dir == nil:
		err = unix.EBUSY
	}
	return old, at, err
}

// contains reports whether a folder is another one, or has it below.
func contains(dir, other *inode) bool {
	if dir == other {
		return true
	}
	for _, n := range dir.entries {
		if n.isDir() && contains(n, other) {
			return true
		}
	}
	return false
}

// Exchange implements disk.FS.
func (p *Process) Exchange(a, b string) error {
	return linkError("exchange", a, b, p.change(Call{Op: OpExchange, Name: b}, func(fate) error {
		x, y, err := p.d.walkTwo(a, b)
		switch {
		case err != nil:
			return err
		case y.ino == nil:
			return unix.ENOENT
		case x.ino == y.ino:
			return nil
		case x.ino.isDir() && contains(x.ino, y.dir), y.ino.isDir() && contains(y.ino, x.dir):
			return unix.EINVAL
		}
		p.d.rename(effect{x.dir, x.name, y.ino}, effect{y.dir, y.name, x.ino})
		return nil
	}))
}

// Remove implements disk.FS.
func (p *Process) Remove(name string) error {
	return pathError("remove", name, p.change(Call{Op: OpRemove, Name: name}, func(fate) error {
		at, err := p.d.walk(name, false)
		switch {
		case err != nil:
			return err
		case at.ino == nil:
			return unix.ENOENT
		case at.dir == nil:
			return unix.EBUSY
		case len(at.ino.entries) > 0:
			return unix.ENOTEMPTY
		}
		p.d.rename(effect{at.dir, at.name, nil})
		return nil
	}))
}

// RemoveAll implements disk.FS, by a call for each file.
func (p *Process) RemoveAll(name string) error {
	err := p.Remove(name)
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return nil
	case !errors.Is(err, unix.ENOTEMPTY):
		return err
	}
	entries, err := p.ReadDir(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := p.RemoveAll(filepath.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return p.Remove(name)
}

// Chmod implements disk.FS.
func (p *Process) Chmod(name string, mode fs.FileMode) error {
	return pathError("chmod", name, p.change(Call{Op: OpChmod, Name: name}, func(fate) error {
		at, err := p.d.walk(name, true)
		if err == nil && at.ino == nil {
			err = unix.ENOENT
		}
		if err != nil {
			return err
		}
		at.ino.chmod(mode)
		return nil
	}))
}

func (n *inode) chmod(mode fs.FileMode) {
	n.mode = n.mode&^0o777 | mode&0o777
	n.modes = append(n.modes, n.mode)
}

// Stat implements disk.FS.
func (p *Process) Stat(name string) (fs.FileInfo, error) { return p.stat("stat", name, true) }

// Lstat implements disk.FS.
func (p *Process) Lstat(name string) (fs.FileInfo, error) { return p.stat("lstat", name, false) }

func (p *Process) stat(op, name string, follow bool) (info fs.FileInfo, err error) {
	err = p.look(func() error {
		at, err := p.d.walk(name, follow)
		if err == nil && at.ino == nil {
			err = unix.ENOENT
		}
		if err == nil {
			info = at.ino.info(filepath.Base(name))
		}
		return err
	})
	return info, pathError(op, name, err)
}

// Readlink implements disk.FS.
func (p *Process) Readlink(name string) (target string, err error) {
	err = p.look(func() error {
		at, err := p.d.walk(name, false)
		switch {
		case err != nil:
			return err
		case at.ino == nil:
			return unix.ENOENT
		case !at.ino.isLink():
			return unix.EINVAL
		}
		target = at.ino.target
		return nil
	})
	return target, pathError("readlink", name, err)
}

// ReadDir implements disk.FS.
func (p *Process) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = p.look(func() error {
		at, err := p.d.walk(name, true)
		switch {
		case err != nil:
			return err
		case at.ino == nil:
			return unix.ENOENT
		case !at.ino.isDir():
			return unix.ENOTDIR
		}
		for _, name := range sortedKeys(at.ino.entries) {
			entries = append(entries, fs.FileInfoToDirEntry(at.ino.entries[name].info(name)))
		}
		return nil
	})
	return entries, pathError("open", name, err)
}
