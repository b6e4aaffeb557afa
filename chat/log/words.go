package log

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	wordsSize = 16
	maxOffset = 1 << 62 // offsets are below it; what is not is no offset
)

// words are COMMITTED and END, in memory that all processes with the room open share.
type words struct {
	at     *[2]int64
	mapped []byte // nil: memory of our own
}

// ownWords are for a room whose numbers nobody shares: a copy.
func ownWords(committed int64) words { return words{at: &[2]int64{committed, committed}} }

// mapWords maps a file that has wordsSize bytes or more.
func mapWords(f *os.File, writable bool) (words, error) {
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, wordsSize, prot, unix.MAP_SHARED)
	if err != nil {
		return words{}, fmt.Errorf("chat/log: %s can't be mapped: %w", f.Name(), err)
	}
	return words{at: (*[2]int64)(unsafe.Pointer(unsafe.SliceData(mem))), mapped: mem}, nil
}

func sane(n int64) int64 {
	if n < 0 || n >= maxOffset {
		return 0
	}
	return n
}

func (w words) committed() int64 { return sane(atomic.LoadInt64(&w.at[0])) }
func (w words) end() int64       { return sane(atomic.LoadInt64(&w.at[1])) }

func (w words) setCommitted(n int64) error { return store(&w.at[0], n) }
func (w words) setEnd(n int64) error       { return store(&w.at[1], n) }

// store writes to mapped memory. Where a file system copies on write, a full disk shows as a fault
// here.
func store(at *int64, n int64) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: the file committed can't be written: %v", ErrFailing, r)
		}
	}()
	atomic.StoreInt64(at, n)
	return nil
}
