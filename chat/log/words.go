package log

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"weir/internal/disk"
)

const (
	offsetsSize = 16
	maxOffset   = 1 << 62 // offsets are below this
)

// sharedOffsets holds COMMITTED and END, in memory shared by all processes that have the room open.
type sharedOffsets struct {
	at    *[2]int64
	unmap func() // nil: private memory
}

// privateOffsets returns offsets that are not shared with other processes: those of a copy.
func privateOffsets(committed int64) sharedOffsets {
	return sharedOffsets{at: &[2]int64{committed, committed}}
}

// mapOffsets maps a file of at least offsetsSize bytes.
func mapOffsets(f disk.File, writable bool) (sharedOffsets, error) {
	mem, unmap, err := f.Map(offsetsSize, writable)
	if err != nil {
		return sharedOffsets{}, fmt.Errorf("chat/log: %w", err)
	}
	return sharedOffsets{at: (*[2]int64)(unsafe.Pointer(unsafe.SliceData(mem))), unmap: unmap}, nil
}

// validOffset returns n, or 0 if n cannot be an offset.
func validOffset(n int64) int64 {
	if n < 0 || n >= maxOffset {
		return 0
	}
	return n
}

func (w sharedOffsets) committed() int64 { return validOffset(atomic.LoadInt64(&w.at[0])) }
func (w sharedOffsets) end() int64       { return validOffset(atomic.LoadInt64(&w.at[1])) }

func (w sharedOffsets) setCommitted(n int64) error { return store(&w.at[0], n) }
func (w sharedOffsets) setEnd(n int64) error       { return store(&w.at[1], n) }

// store writes to mapped memory. A full disk under a file system that copies on write causes a
// fault here, which is returned as an error.
func store(at *int64, n int64) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: write to the file committed: %v", ErrFailing, r)
		}
	}()
	atomic.StoreInt64(at, n)
	return nil
}
