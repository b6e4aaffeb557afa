package perfring

import (
	"encoding/binary"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Ring is the ring buffer of an event ("MMAP layout" in the manual page): a page with positions,
// then the data. The kernel moves the head, and this program the tail. One goroutine may use it.
type Ring struct {
	memory []byte
	page   *unix.PerfEventMmapPage
	data   []byte // its length is a power of two
	buf    []byte // of the record that Read passes on
}

// A Record is one record without its header. Body is valid until the function that got it returns.
type Record struct {
	Kind uint32 // PERF_RECORD_...
	Misc uint16
	Body []byte
}

// New maps the ring of an event. pages is the number of pages of data, a power of two. The caller
// must Close the ring before it closes the event.
func New(fd, pages int) (*Ring, error) {
	size := os.Getpagesize()
	memory, err := unix.Mmap(fd, 0, (1+pages)*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &Ring{memory: memory, page: (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0])), data: memory[size:]}, nil
}

// Close unmaps the ring.
func (r *Ring) Close() error { return unix.Munmap(r.memory) }

// Read passes the records that the kernel has written to f, and returns how many records it
// dropped for want of room.
func (r *Ring) Read(f func(Record)) (lost int64) {
	head := atomic.LoadUint64(&r.page.Data_head)
	tail := r.page.Data_tail
	for tail < head {
		r.buf = r.copy(r.buf[:0], tail, 8)
		size := uint64(binary.NativeEndian.Uint16(r.buf[6:]))
		if size < 8 || size > head-tail {
			tail = head // corrupt: the following records cannot be separated
			break
		}
		r.buf = r.copy(r.buf[:0], tail, size)
		tail += size
		kind, misc, body := binary.NativeEndian.Uint32(r.buf), binary.NativeEndian.Uint16(r.buf[4:]), r.buf[8:]
		if kind == unix.PERF_RECORD_LOST { // u64 id, u64 lost
			lost += int64(Uint(body, 8, 8))
			continue
		}
		f(Record{kind, misc, body})
	}
	atomic.StoreUint64(&r.page.Data_tail, tail)
	return lost
}

// Raw returns the raw part of a sample of type PERF_SAMPLE_RAW; nil if it has none.
func (r Record) Raw() []byte {
	n := Uint(r.Body, 0, 4) // u32 size, then as many bytes
	if r.Kind != unix.PERF_RECORD_SAMPLE || len(r.Body) < 4 || n > uint64(len(r.Body)-4) {
		return nil
	}
	return r.Body[4 : 4+n]
}

// copy appends n bytes from a position; they may wrap around the end of the data.
func (r *Ring) copy(buf []byte, at, n uint64) []byte {
	at %= uint64(len(r.data))
	first := min(n, uint64(len(r.data))-at)
	buf = append(buf, r.data[at:at+first]...)
	return append(buf, r.data[:n-first]...)
}

// Uint decodes an integer of 2, 4 or 8 bytes; 0 if the data is too short.
func Uint(b []byte, offset, size int) uint64 {
	if offset < 0 || offset+size > len(b) {
		return 0
	}
	switch b = b[offset:]; size {
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// OnlineCPUs returns the number of cores of the machine, also if this process may not use all.
func OnlineCPUs() (n int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(1, &set) == nil { // the first process may use all cores
		return max(set.Count(), runtime.NumCPU())
	}
	return runtime.NumCPU()
}
