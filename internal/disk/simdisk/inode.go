package simdisk

import (
	"encoding/binary"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

// sectorSize is the number of bytes that a disk writes as a whole.
const sectorSize = 512

// maxVersions limits the versions of a sector that wait for a sync. Then the kernel writes one.
const maxVersions = 16

// inode is a file, a folder or a symbolic link.
type inode struct {
	rng   *rand.Rand  // of the disk
	mode  fs.FileMode // with its type
	time  int64       // of the last change
	links int         // names in the page cache
	opens int         // open files

	// of a file: the page cache
	data   []byte
	memory []uint64 // the first bytes of data, mapped; nil: none are
	locker *file    // the open file that has the lock; nil: none

	// of a file: the medium. It may have bytes beyond its size, which are part of sectors that were
	// written before the size.
	medium     []byte
	mediumSize int64
	mediumMode fs.FileMode
	dirty      map[int][][]byte // versions of sectors since they were last clean, oldest first
	sizes      []int64          // sizes since the last sync, oldest first
	modes      []fs.FileMode    // modes since the last Sync, oldest first

	// of a folder: its names in the page cache and on the medium
	entries map[string]*inode
	durable map[string]durableName
	made    *change // the change that made this folder; nil: the root

	target string // of a symbolic link
}

// durableName is a name on the medium.
type durableName struct {
	ino *inode // nil: the name was removed
	seq int64  // of the change
}

func newInode(rng *rand.Rand, mode fs.FileMode) *inode {
	n := &inode{rng: rng, mode: mode, mediumMode: mode}
	if n.isDir() {
		n.entries, n.durable = map[string]*inode{}, map[string]durableName{}
	}
	return n
}

func (n *inode) isDir() bool  { return n.mode.IsDir() }
func (n *inode) isLink() bool { return n.mode&fs.ModeSymlink != 0 }

func sectors(size int) int64 { return int64(size+sectorSize-1) / sectorSize }

// write writes bytes into the page cache. The caller has checked the space.
func (n *inode) write(b []byte, at int) {
	if len(b) == 0 {
		return
	}
	n.refresh()
	if end := at + len(b); end > len(n.data) {
		n.resize(end)
	}
	copy(n.data[at:], b)
	n.storeMapped(at, len(b))
	for s := at / sectorSize; s <= (at+len(b)-1)/sectorSize; s++ {
		n.touch(s)
	}
}

// resize changes the size in the page cache, without the sectors.
func (n *inode) resize(size int) {
	if size <= len(n.data) {
		n.data = n.data[:size]
	} else {
		n.data = append(n.data, make([]byte, size-len(n.data))...)
	}
	n.sizes = append(n.sizes, int64(size))
}

// truncate changes the size, and the sectors that had bytes beyond it.
func (n *inode) truncate(size int) {
	n.refresh()
	before := max(len(n.data), len(n.medium))
	n.resize(size)
	for s := size / sectorSize; int64(s) < sectors(before); s++ {
		n.touch(s)
	}
}

// sector returns a copy of a sector of b, with zeros beyond the end.
func sector(b []byte, s int) []byte {
	out := make([]byte, sectorSize)
	if from := s * sectorSize; from < len(b) {
		copy(out, b[from:])
	}
	return out
}

// touch adds the present version of a sector.
func (n *inode) touch(s int) {
	if n.dirty == nil {
		n.dirty = map[int][][]byte{}
	}
	versions := append(n.dirty[s], sector(n.data, s))
	if len(versions) > maxVersions {
		written := n.rng.IntN(len(versions) - 1)
		n.writeSector(s, versions[written])
		versions = slices.Delete(versions, 0, written+1)
	}
	n.dirty[s] = versions
}

// writeSector writes a sector to the medium.
func (n *inode) writeSector(s int, b []byte) {
	if end := (s + 1) * sectorSize; end > len(n.medium) {
		n.medium = append(n.medium, make([]byte, end-len(n.medium))...)
	}
	copy(n.medium[s*sectorSize:], b)
}

// sync writes the dirty sectors and the size to the medium, and the mode, too, if all is set.
func (n *inode) sync(all bool) {
	n.refresh()
	for s := range n.dirty {
		n.writeSector(s, sector(n.data, s))
	}
	n.dirty, n.sizes = nil, nil
	n.mediumSize = int64(len(n.data))
	if all {
		n.mediumMode, n.modes = n.mode, nil
	}
}

// failSync makes all sectors clean and writes some of them.
func (n *inode) failSync() {
	n.refresh()
	for _, s := range sortedKeys(n.dirty) {
		if v := n.dirty[s]; n.rng.IntN(2) == 0 {
			n.writeSector(s, v[n.rng.IntN(len(v))])
		}
	}
	n.dirty = nil
}

// mapMemory returns memory for the first size bytes, which are in the file. The first call sets how
// many can be mapped.
func (n *inode) mapMemory(size int) []uint64 {
	if n.memory == nil {
		n.memory = make([]uint64, (size+7)/8)
		n.storeMapped(0, len(n.data))
	}
	return n.memory
}

// refresh takes what was stored into the mapped memory into the page cache.
func (n *inode) refresh() {
	var b [8]byte
	for i := range n.memory {
		binary.NativeEndian.PutUint64(b[:], atomic.LoadUint64(&n.memory[i]))
		at := i * 8
		if end := min(at+8, len(n.data)); at < end && string(n.data[at:end]) != string(b[:end-at]) {
			copy(n.data[at:end], b[:])
			n.touch(at / sectorSize)
		}
	}
}

// storeMapped copies bytes of the page cache into the mapped memory.
func (n *inode) storeMapped(at, size int) {
	for i := at / 8; i < len(n.memory) && i*8 < at+size; i++ {
		var b [8]byte
		copy(b[:], n.data[min(i*8, len(n.data)):])
		atomic.StoreUint64(&n.memory[i], binary.NativeEndian.Uint64(b[:]))
	}
}

func sortedKeys[K int | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
