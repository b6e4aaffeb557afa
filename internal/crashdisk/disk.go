package crashdisk

import (
	"slices"
	"sync"
)

// Disk is a disk in memory. Its methods may be called by any goroutine.
type Disk struct {
	size int64 // in bytes

	mu       sync.Mutex
	shown    *Image
	position int     // number of events: a write or flush that was received, or replied to
	writes   []write // since Record, as received
	flushes  []flush // since Record, as replied to
}

// write is a write that was received. Its positions are the numbers of the events before it.
type write struct {
	at       int64
	data     []byte
	received int
	replied  int // 0 if it was not replied to
}

// flush is a flush that was replied to.
type flush struct{ received, replied int }

// New returns a disk of zeros.
func New(size int64) *Disk { return &Disk{size: size, shown: newImage(nil)} }

// Show makes an image the content of the disk, which nothing may be using. Later writes do not
// change the image.
func (d *Disk) Show(m *Image) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = newImage(m)
}

// Record begins a recording.
func (d *Disk) Record() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = newImage(d.shown)
	d.position, d.writes, d.flushes = 1, nil, nil
}

// Position returns the position of the recording now.
func (d *Disk) Position() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.position
}

// Flushed returns the number of flushes since Record.
func (d *Disk) Flushed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.flushes)
}

// Recorded returns the recording so far. It contains nothing that happens afterwards.
func (d *Disk) Recorded() *Recording {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &Recording{before: d.shown.below, writes: slices.Clone(d.writes), flushes: slices.Clone(d.flushes), End: d.position}
	r.coverWrites()
	return r
}

func (d *Disk) readAt(p []byte, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown.read(p, at)
}

// event counts an event and returns its position.
func (d *Disk) event() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.position++
	return d.position - 1
}

// writeAt carries out a write, which is replied to afterwards. It keeps p.
func (d *Disk) writeAt(p []byte, at int64, received int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown.write(p, at)
	d.writes = append(d.writes, write{at, p, received, d.position})
	d.position++
}

// flush carries out a flush, which is replied to afterwards.
func (d *Disk) flush(received int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flushes = append(d.flushes, flush{received, d.position})
	d.position++
}
