package simdisk

import (
	"io/fs"
	"maps"
	"slices"
)

// survival is how much of what was not synced survives a crash.
type survival int

const (
	nothing survival = iota
	everything
	prefix // of the changes of names: the first ones; of sectors: like some
	some
	survivals
)

// Crash cuts the power, unless it has failed already, and returns the disk after the next start.
// Another call returns another outcome of the same crash.
func (d *Disk) Crash() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endLocked()
	return d.survivorLocked()
}

// Survivor returns the disk as it would be if the power failed now. The disk runs on.
func (d *Disk) Survivor() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.survivorLocked()
}

func (d *Disk) survivorLocked() *Disk {
	after := New(d.rng.Uint64())
	after.seq, after.temps, after.space, after.stale, after.showStale = d.seq, d.temps, d.space, d.stale, d.showStale
	c := &crash{
		from: d, to: after, files: map[*inode]*inode{}, names: map[*inode]map[string]durableName{},
		data: survival(d.rng.IntN(int(survivals))), showStale: d.rng.IntN(4) == 0 && d.showStale,
	}
	c.keepChanges(survival(d.rng.IntN(int(survivals))))
	after.root = c.restore(d.root)
	after.root.links = 1
	return after
}

// crash computes the medium after a crash.
type crash struct {
	from, to  *Disk
	files     map[*inode]*inode // before the crash to after it
	names     map[*inode]map[string]durableName
	data      survival
	showStale bool // sectors that were never written have data of other files
}

// keepChanges chooses the changes of names that survive.
func (c *crash) keepChanges(how survival) {
	rng, limit := c.from.rng, 0
	switch how {
	case everything, some:
		limit = len(c.from.pending)
	case prefix:
		limit = rng.IntN(len(c.from.pending) + 1)
	}
	kept := map[*change]bool{}
	for _, x := range c.from.pending[:limit] {
		lost := slices.ContainsFunc(x.effects, func(e effect) bool {
			return e.dir.made != nil && !e.dir.made.durable && !kept[e.dir.made]
		})
		if lost || how == some && rng.IntN(2) == 0 {
			continue
		}
		kept[x] = true
		for _, e := range x.effects {
			if names := c.namesOf(e.dir); names[e.name].seq < x.seq {
				names[e.name] = durableName{e.to, x.seq}
			}
		}
	}
}

// namesOf returns the surviving names of a folder.
func (c *crash) namesOf(dir *inode) map[string]durableName {
	if c.names[dir] == nil {
		c.names[dir] = maps.Clone(dir.durable)
	}
	return c.names[dir]
}

// restore returns the file, folder or link after the crash.
func (c *crash) restore(n *inode) *inode {
	if c.files[n] != nil {
		return c.files[n]
	}
	out := newInode(c.to.rng, n.mode)
	c.files[n] = out
	out.time, out.target = n.time, n.target
	switch {
	case n.isDir():
		names := c.namesOf(n)
		for _, name := range sortedKeys(names) {
			if ino := names[name].ino; ino != nil {
				child := c.restore(ino)
				child.links++
				out.entries[name], out.durable[name] = child, durableName{ino: child}
			}
		}
	case !n.isLink():
		out.mode = choose(c, n.mediumMode, n.modes)
		out.mediumMode = out.mode
		c.restoreContents(n, out)
	}
	return out
}

// choose returns one of the values since the last sync, or the synced one.
func choose[T int64 | fs.FileMode](c *crash, synced T, since []T) T {
	if len(since) == 0 || c.data == nothing {
		return synced
	}
	if c.data == everything {
		return since[len(since)-1]
	}
	if i := c.from.rng.IntN(len(since) + 1); i > 0 {
		return since[i-1]
	}
	return synced
}

// restoreContents chooses the size and a version of each sector.
func (c *crash) restoreContents(n, out *inode) {
	n.refresh()
	size := choose(c, n.mediumSize, n.sizes)
	out.data = make([]byte, size)
	for s := range int(sectors(int(size))) {
		copy(out.data[s*sectorSize:], c.restoreSector(n, s))
	}
	out.medium, out.mediumSize = slices.Clone(out.data), size
	c.to.used += sectors(int(size))
}

// restoreSector chooses a version of a sector.
func (c *crash) restoreSector(n *inode, s int) []byte {
	versions, rng := n.dirty[s], c.from.rng
	if len(versions) > 0 && c.data == everything {
		return versions[len(versions)-1]
	}
	if len(versions) > 0 && c.data != nothing {
		if i := rng.IntN(len(versions) + 1); i > 0 {
			return versions[i-1]
		}
	}
	if s*sectorSize >= len(n.medium) && c.showStale && len(c.from.stale) > 0 {
		return c.from.stale[rng.IntN(len(c.from.stale))]
	}
	return sector(n.medium, s)
}
