package reason

import (
	"encoding/binary"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is the ring buffer into which the kernel writes an event's records (perf_event_open(2),
// "MMAP layout"): a page with positions, then the data. The kernel moves the head, and this program
// the tail.
type ring struct {
	memory []byte
	page   *unix.PerfEventMmapPage
	data   []byte // its length is a power of two
}

func newRing(fd int) (*ring, error) {
	size := os.Getpagesize()
	memory, err := unix.Mmap(fd, 0, (1+ringPages)*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &ring{memory, (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0])), memory[size:]}, nil
}

func (r *ring) close() error { return unix.Munmap(r.memory) }

// read passes the raw part of each sample to f, which must not keep it, and returns how many
// records the kernel dropped.
func (r *ring) read(f func(raw []byte)) (lost int64) {
	head := atomic.LoadUint64(&r.page.Data_head)
	tail := r.page.Data_tail
	var buf []byte
	for tail < head {
		buf = r.copy(buf[:0], tail, 8)
		kind, size := binary.NativeEndian.Uint32(buf), uint64(binary.NativeEndian.Uint16(buf[6:]))
		if size < 8 || size > head-tail {
			tail = head // corrupt: the following records cannot be separated
			break
		}
		buf = r.copy(buf[:0], tail, size)
		tail += size
		lost += record(kind, buf[8:], f)
	}
	atomic.StoreUint64(&r.page.Data_tail, tail)
	return lost
}

// record decodes the body of one record.
func record(kind uint32, body []byte, f func(raw []byte)) (lost int64) {
	switch kind {
	case unix.PERF_RECORD_LOST: // u64 id, u64 lost
		return int64(nativeUint(body, 8, 8))
	case unix.PERF_RECORD_SAMPLE: // u32 size, then as many bytes
		n := nativeUint(body, 0, 4)
		if len(body) >= 4 && n <= uint64(len(body)-4) {
			f(body[4 : 4+n])
		}
	}
	return 0
}

// copy appends n bytes from a position; they may wrap around the end of the data.
func (r *ring) copy(buf []byte, at, n uint64) []byte {
	at %= uint64(len(r.data))
	first := min(n, uint64(len(r.data))-at)
	buf = append(buf, r.data[at:at+first]...)
	return append(buf, r.data[:n-first]...)
}

// nativeUint decodes an integer of 2, 4 or 8 bytes; 0 if the data is too short.
func nativeUint(b []byte, offset, size int) uint64 {
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
