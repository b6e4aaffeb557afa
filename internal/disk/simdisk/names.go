package simdisk

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// place is where a path leads: a name in a folder, and what has the name.
type place struct {
	dir  *inode // nil: the path is that of the root
	name string
	ino  *inode // nil: nothing has the name
}

const (
	maxLinks = 40  // symbolic links in a path (ELOOP)
	maxName  = 255 // bytes of a name
)

// walk follows a path. It follows a symbolic link at its end if follow is set.
func (d *Disk) walk(path string, follow bool) (place, error) {
	if path == "" {
		return place{}, unix.ENOENT
	}
	links := 0
	folders := []*inode{d.root}
	at := place{ino: d.root}
	rest := strings.Split(path, "/")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if at.ino == nil {
			return place{}, unix.ENOENT
		}
		if !at.ino.isDir() {
			return place{}, unix.ENOTDIR
		}
		switch {
		case name == "" || name == ".":
			continue
		case name == "..":
			folders = folders[:max(1, len(folders)-1)]
			at = place{ino: folders[len(folders)-1]}
			continue
		case len(name) > maxName:
			return place{}, unix.ENAMETOOLONG
		}
		at = place{dir: at.ino, name: name, ino: at.ino.entries[name]}
		if at.ino == nil {
			continue
		}
		if at.ino.isLink() && (follow || len(rest) > 0) {
			if links++; links > maxLinks {
				return place{}, unix.ELOOP
			}
			if strings.HasPrefix(at.ino.target, "/") {
				folders = folders[:1]
			}
			rest = append(strings.Split(at.ino.target, "/"), rest...)
			at = place{ino: folders[len(folders)-1]}
			continue
		}
		if at.ino.isDir() {
			folders = append(folders, at.ino)
		}
	}
	return at, nil
}

// change is an atomic change of names.
type change struct {
	seq     int64
	effects []effect
	durable bool // it is on the medium
}

// effect is what a change does to one name.
type effect struct {
	dir  *inode
	name string
	to   *inode // nil: the name is removed
}

// rename changes names in the page cache.
func (d *Disk) rename(effects ...effect) *change {
	d.seq++
	c := &change{seq: d.seq, effects: effects}
	for _, e := range effects {
		if e.to != nil {
			e.to.links++
		}
	}
	for _, e := range effects {
		if old := e.dir.entries[e.name]; old != nil {
			old.links--
			d.release(old)
		}
		if e.to == nil {
			delete(e.dir.entries, e.name)
		} else {
			e.dir.entries[e.name] = e.to
			if e.to.isDir() && e.to.made == nil {
				e.to.made = c
			}
		}
		e.dir.time = c.seq
	}
	d.pending = append(d.pending, c)
	return c
}

// release frees the sectors of a file that has no name and is not open.
func (d *Disk) release(n *inode) {
	if n.links > 0 || n.opens > 0 || n.mode&^0o777 != 0 {
		return
	}
	d.used -= sectors(len(n.data))
	if len(n.data) > 0 && len(d.stale) < 64 {
		d.stale = append(d.stale, sector(n.data, d.rng.IntN(int(sectors(len(n.data))))))
	}
	d.mapped = slices.DeleteFunc(d.mapped, func(m *inode) bool { return m == n })
}

// syncNames makes the names of a folder durable.
func (d *Disk) syncNames(dir *inode) {
	d.pending = slices.DeleteFunc(d.pending, func(c *change) bool {
		if slices.ContainsFunc(c.effects, func(e effect) bool { return e.dir == dir }) {
			c.makeDurable()
		}
		return c.durable
	})
	for name, at := range dir.durable {
		if at.ino == nil { // no earlier change of the name is pending any more
			delete(dir.durable, name)
		}
	}
}

// makeDurable puts a change on the medium. A change in several folders takes the folders there, or
// else it could lose a file that was durable.
func (c *change) makeDurable() {
	if c.durable {
		return
	}
	c.durable = true
	for _, e := range c.effects {
		if len(c.effects) > 1 && e.dir.made != nil {
			e.dir.made.makeDurable()
		}
		if e.dir.durable[e.name].seq < c.seq {
			e.dir.durable[e.name] = durableName{e.to, c.seq}
		}
	}
}
