package simdisk

import (
	"io/fs"
	"time"
)

// epoch is the time of the first change. The n-th is n nanoseconds later.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// info is a fs.FileInfo.
type info struct {
	ino  *inode
	name string
	size int64
	mode fs.FileMode
	time time.Time
}

func (n *inode) info(name string) fs.FileInfo {
	n.refresh()
	i := info{n, name, int64(len(n.data)), n.mode, epoch.Add(time.Duration(n.time))}
	if n.isLink() {
		i.size = int64(len(n.target))
	}
	return i
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.time }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// SameFile reports whether two results of Stat, Lstat or File.Stat are of one file.
func (p *Process) SameFile(a, b fs.FileInfo) bool {
	x, ok1 := a.(info)
	y, ok2 := b.(info)
	return ok1 && ok2 && x.ino == y.ino
}
