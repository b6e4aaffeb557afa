package simdisk

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"weir/internal/disk"
)

// Process is the disk as one process uses it. It is a disk.FS.
type Process struct {
	d *Disk
	// the fields below are guarded by d.mu
	files  map[*file]bool // the open ones
	killed bool
	calls  int // calls that change the disk so far
	killAt int // the call at which the process is killed; 0: none
	moment Moment
}

var _ disk.FS = (*Process)(nil)

// Moment is the time in a call at which a process is killed or the power fails.
type Moment int

// The moments. During is Before for all calls but writes, of which it writes a part.
const (
	Random Moment = iota
	Before        // the call has no effect
	During        // a write writes a part
	After         // the call has its effect, and its caller gets no result
)

func (m Moment) String() string { return [...]string{"random", "before", "during", "after"}[m] }

// Op is a kind of call that changes the disk.
type Op string

// The calls that change the disk, of files and of names.
const (
	OpWrite    Op = "write"
	OpTruncate Op = "truncate"
	OpSync     Op = "sync"   // of a file or a folder, Datasync included
	OpChmod    Op = "chmod"  // of a file or a name
	OpCreate   Op = "create" // a file, by OpenFile or CreateTemp
	OpMkdir    Op = "mkdir"
	OpLink     Op = "link"
	OpSymlink  Op = "symlink"
	OpRename   Op = "rename"
	OpExchange Op = "exchange"
	OpRemove   Op = "remove"
)

// Call is a call that changes the disk.
type Call struct {
	Op    Op
	Name  string
	Bytes int // of a write
}

// KillAt makes the process die in its n-th call from now on that changes the disk, from 1. 0 undoes
// that.
func (p *Process) KillAt(n int, m Moment) {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.killAt, p.moment = 0, m
	if n > 0 {
		p.killAt = p.calls + n
	}
}

// Kill ends the process: its files are closed, and its locks are free. The page cache stays.
func (p *Process) Kill() {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.endLocked()
}

func (p *Process) endLocked() {
	p.killed = true
	for f := range p.files {
		f.closeLocked()
	}
	p.d.wake.Broadcast()
}

// endedLocked returns the error of a process that has ended.
func (p *Process) endedLocked() error {
	switch {
	case p.d.crashed:
		return ErrCrashed
	case p.killed:
		return ErrKilled
	}
	return nil
}

// fate is what becomes of a call.
type fate struct {
	err   error // of the call; nil: the result of what it does
	part  bool  // it does something, although err is not nil
	bytes int   // how many a write writes
}

// change runs a call that changes the disk: do, unless the call fails. do gets the fate of a call
// that has a part of its effect.
func (p *Process) change(c Call, do func(fate) error) error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	if err := p.endedLocked(); err != nil {
		return err
	}
	if n := len(p.d.mapped); n > 0 { // mapped memory changes at any time
		p.d.mapped[p.d.rng.IntN(n)].refresh()
	}
	p.d.calls++
	p.calls++
	switch {
	case p.d.calls == p.d.crashAt:
		p.interrupt(c, do, Random)
		p.d.endLocked()
		return ErrCrashed
	case p.calls == p.killAt:
		p.interrupt(c, do, p.moment)
		p.endLocked()
		return ErrKilled
	}
	f := p.d.fault(c)
	if f.err != nil && !f.part {
		return f.err
	}
	if err := do(f); f.err == nil {
		return err
	}
	return f.err
}

// interrupt runs the part of a call that a crash or a kill lets happen.
func (p *Process) interrupt(c Call, do func(fate) error, m Moment) {
	if m == Random {
		m = Before + Moment(p.d.rng.IntN(3))
	}
	switch {
	case m == After:
		_ = do(fate{bytes: c.Bytes})
	case m == During && c.Op == OpWrite && c.Bytes > 1:
		_ = do(fate{bytes: 1 + p.d.rng.IntN(c.Bytes-1)})
	}
}

// fault chooses the fault of a call.
func (d *Disk) fault(c Call) fate {
	f := fate{bytes: c.Bytes}
	if d.faults.Fail != nil {
		if n, err := d.faults.Fail(c); err != nil {
			f.err, f.bytes = err, min(n, c.Bytes)
			f.part = c.Op == OpSync || c.Op == OpWrite && n > 0
		}
	}
	return f
}

// look runs a call that changes nothing.
func (p *Process) look(do func() error) error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	if err := p.endedLocked(); err != nil {
		return err
	}
	return do()
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}

// add makes a file, folder or link with a name that is free.
func (d *Disk) add(at place, n *inode) error {
	if !d.hasSpace(1) {
		return unix.ENOSPC
	}
	n.time = d.seq + 1
	d.rename(effect{at.dir, at.name, n})
	return nil
}

// free returns the place of a path whose name is free.
func (d *Disk) free(path string) (place, error) {
	at, err := d.walk(path, false)
	if err == nil && at.ino != nil {
		err = unix.EEXIST
	}
	return at, err
}

// OpenFile implements disk.FS.
func (p *Process) OpenFile(name string, flag int, mode fs.FileMode) (opened disk.File, err error) {
	open := func() (err error) {
		opened, err = p.openLocked(name, flag, mode)
		return err
	}
	creates, truncates := false, false
	err = p.look(func() error {
		at, err := p.d.walk(name, flag&os.O_EXCL == 0)
		creates = err == nil && at.ino == nil && flag&os.O_CREATE != 0
		truncates = err == nil && at.ino != nil && flag&os.O_TRUNC != 0
		return nil
	})
	switch {
	case err != nil:
	case creates:
		err = p.change(Call{Op: OpCreate, Name: name}, func(fate) error { return open() })
	case truncates:
		err = p.change(Call{Op: OpTruncate, Name: name}, func(fate) error { return open() })
	default:
		err = p.look(open)
	}
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return opened, nil
}

// openLocked opens or creates a file. The caller holds the lock.
func (p *Process) openLocked(name string, flag int, mode fs.FileMode) (*file, error) {
	d := p.d
	excl := flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL
	at, err := d.walk(name, !excl)
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	switch {
	case err != nil:
		return nil, err
	case at.ino == nil && flag&os.O_CREATE == 0:
		return nil, unix.ENOENT
	case at.ino == nil:
		at.ino = newInode(d.rng, mode&0o777)
		if err := d.add(at, at.ino); err != nil {
			return nil, err
		}
	case excl:
		return nil, unix.EEXIST
	case at.ino.isDir() && (writes || flag&os.O_CREATE != 0):
		return nil, unix.EISDIR
	case at.ino.isDir() && flag&os.O_TRUNC != 0:
		return nil, unix.EISDIR
	case flag&os.O_TRUNC != 0:
		d.truncate(at.ino, 0)
	}
	f := &file{p: p, ino: at.ino, name: name, flag: flag}
	f.ino.opens++
	p.files[f] = true
	return f, nil
}

// truncate changes the size of a file. There is space for it.
func (d *Disk) truncate(n *inode, size int) {
	d.used += sectors(size) - sectors(len(n.data))
	d.seq++
	n.time = d.seq
	n.truncate(size)
}

// temp returns a path with an unused name: pattern with a number for its last asterisk.
func (p *Process) temp(dir, pattern string) (path string, err error) {
	before, after := pattern, ""
	if i := strings.LastIndexByte(pattern, '*'); i >= 0 {
		before, after = pattern[:i], pattern[i+1:]
	}
	err = p.look(func() error {
		p.d.temps++
		path = filepath.Join(dir, fmt.Sprint(before, p.d.temps, after))
		return nil
	})
	return path, err
}

// CreateTemp implements disk.FS.
func (p *Process) CreateTemp(dir, pattern string) (disk.File, error) {
	path, err := p.temp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return p.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// MkdirTemp implements disk.FS.
func (p *Process) MkdirTemp(dir, pattern string) (string, error) {
	path, err := p.temp(dir, pattern)
	if err != nil {
		return "", err
	}
	return path, p.Mkdir(path, 0o700)
}
