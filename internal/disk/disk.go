// Package disk is the file system that stored data goes through: the operating system's, or another
// one with the same calls, such as the simulated disk of package simdisk.
//
// FS and File have the calls that chat and package durable need, and no more. Names are paths, as
// in package os. Errors are those of package os: errors.Is finds fs.ErrNotExist and unix.ENOSPC in
// them. All calls are safe for concurrent use.
//
// # Limitations
//
// Walking a tree, watching for changes, ownership by name and access times are missing. Locks are
// those of flock(2): they belong to an open file, and network file systems may lack them.
package disk

import (
	"io"
	"io/fs"
)

// FS is a file system.
type FS interface {
	// OpenFile opens a file, or a folder for reading: see os.OpenFile.
	OpenFile(name string, flag int, mode fs.FileMode) (File, error)
	// CreateTemp creates a file with an unused name: see os.CreateTemp.
	CreateTemp(dir, pattern string) (File, error)

	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	// SameFile reports whether two results of Stat, Lstat or File.Stat are of one file.
	SameFile(a, b fs.FileInfo) bool
	// ReadDir returns the entries of a folder by name: see os.ReadDir.
	ReadDir(name string) ([]fs.DirEntry, error)
	Readlink(name string) (string, error)

	Mkdir(name string, mode fs.FileMode) error
	// MkdirTemp creates a folder with an unused name: see os.MkdirTemp.
	MkdirTemp(dir, pattern string) (string, error)
	Link(from, to string) error
	Symlink(target, name string) error
	Rename(from, to string) error
	// Exchange swaps two names in one step. The error is EINVAL or ENOSYS where the file system
	// cannot do that.
	Exchange(a, b string) error
	Remove(name string) error
	RemoveAll(name string) error
	Chmod(name string, mode fs.FileMode) error
}

// File is an open file or folder.
type File interface {
	io.Reader
	io.Writer
	io.ReaderAt
	io.WriterAt
	io.Closer

	Name() string // as it was opened
	Stat() (fs.FileInfo, error)
	State() (State, error) // a cheap Stat
	Truncate(size int64) error
	Chmod(mode fs.FileMode) error
	Chown(uid, gid int) error

	// Sync returns when the file's bytes and metadata are on the disk. Of a folder, it is the names
	// in it. After an error it is unknown which bytes are on the disk, and a later Sync does not
	// write them again: only bytes that are written again count.
	Sync() error
	// Datasync is Sync without the metadata that is not needed to read the bytes.
	Datasync() error

	// Lock waits for the exclusive lock of the file, which one open File at a time has. Close
	// releases it.
	Lock() error
	// TryLock is Lock that fails with EWOULDBLOCK where Lock would wait.
	TryLock() error
	Unlock() error

	// Map maps the first size bytes of the file into memory, which all processes with the file open
	// share. The file has at least these bytes and is not truncated while it is mapped. unmap may
	// be called after Close; the memory must not be used after it.
	Map(size int, writable bool) (mem []byte, unmap func(), err error)
}

// State is the state of an open file.
type State struct {
	Size  int64       // bytes
	Mode  fs.FileMode // permissions
	Links uint64      // number of names; 0 if the file was removed
}

// Or returns d, or System if d is nil.
func Or(d FS) FS {
	if d == nil {
		return System
	}
	return d
}
