package simdisk

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"sync"

	"golang.org/x/sys/unix"
)

var (
	// ErrCrashed is the error of all calls after the power failed.
	ErrCrashed = errors.New("simdisk: the power failed")
	// ErrKilled is the error of all calls of a process that was killed.
	ErrKilled = errors.New("simdisk: the process was killed")
)

// Disk is a simulated disk with the page cache over it. It is safe for concurrent use. With several
// goroutines, results depend on the order of their calls.
type Disk struct {
	mu   sync.Mutex
	wake *sync.Cond // broadcast when a lock may be free, and when a process or the disk ends
	// the fields below are guarded by mu
	rng    *rand.Rand
	root   *inode
	mapped []*inode // files with mapped memory
	// changes of names that are not on the medium yet, in their order
	pending []*change
	seq     int64    // number of changes so far; also the time of modification
	temps   int      // number of temporary names so far
	stale   [][]byte // sectors of removed files
	// sectors that were never written may have stale ones after a crash
	showStale bool
	space     int64 // capacity in sectors; 0: unlimited
	used      int64 // sectors of all files
	faults    Faults
	calls     int // calls that change the disk so far
	crashAt   int // the call at which the power fails; 0: none
	crashed   bool
}

// Faults are errors that a disk returns while it runs. The zero value has none.
type Faults struct {
	SyncFile   float64 // probability that Sync or Datasync of a file returns EIO, 0 to 1
	SyncFolder float64 // probability that Sync of a folder returns EIO, 0 to 1
	// Fail chooses the result of a call, if not nil. A write whose error is not nil writes the
	// first n bytes. It must not call the disk.
	Fail func(c Call) (n int, err error)
}

// New returns an empty disk. All its choices are by the seed.
func New(seed uint64) *Disk {
	d := &Disk{rng: rand.New(rand.NewPCG(seed, 0))}
	d.root = newInode(d.rng, fs.ModeDir|0o755)
	d.root.links = 1
	d.wake = sync.NewCond(&d.mu)
	return d
}

// Process returns a new process that uses the disk.
func (d *Disk) Process() *Process { return &Process{d: d, files: map[*file]bool{}} }

// SetFaults replaces the faults.
func (d *Disk) SetFaults(f Faults) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = f
}

// SetSpace sets the number of free bytes, rounded down to sectors. A negative number means
// unlimited space.
func (d *Disk) SetSpace(free int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.space = 0
	if free >= 0 {
		d.space = max(1, d.used+free/sectorSize)
	}
}

// ShowStale chooses whether sectors that were never written may have data of removed files after a
// crash, as with ext4's data=writeback. Otherwise they have zeros.
func (d *Disk) ShowStale(show bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.showStale = show
}

// hasSpace reports whether a number of sectors can be added.
func (d *Disk) hasSpace(sectors int64) bool { return d.space == 0 || d.used+sectors <= d.space }

// Calls returns how many calls so far have changed the disk, or were to do so.
func (d *Disk) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// CrashAt makes the power fail in the n-th call from now on that changes the disk, from 1. 0 undoes
// that.
func (d *Disk) CrashAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashAt = 0
	if n > 0 {
		d.crashAt = d.calls + n
	}
}

// Crashed reports whether the power has failed.
func (d *Disk) Crashed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.crashed
}

// endLocked makes all calls of all processes fail.
func (d *Disk) endLocked() {
	d.crashed = true
	d.wake.Broadcast()
}

// FlipBits changes n random bits of a file, in the page cache and on the medium. It returns their
// offsets in the file, in bytes.
func (d *Disk) FlipBits(name string, n int) ([]int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, err := d.walk(name, true)
	if err != nil {
		return nil, err
	}
	if at.ino == nil || at.ino.isDir() || len(at.ino.data) == 0 {
		return nil, unix.EINVAL
	}
	at.ino.refresh()
	var flipped []int64
	for range n {
		i := d.rng.IntN(len(at.ino.data))
		bit := byte(1) << d.rng.IntN(8)
		at.ino.data[i] ^= bit
		if i < len(at.ino.medium) {
			at.ino.medium[i] ^= bit
		}
		at.ino.storeMapped(i, 1)
		flipped = append(flipped, int64(i))
	}
	return flipped, nil
}
