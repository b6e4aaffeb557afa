package crashdisk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// Requests of the kernel (include/uapi/linux/fuse.h, version 7.31).
const (
	opForget      = 2
	opGetAttr     = 3
	opSetAttr     = 4
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opRelease     = 18
	opFsync       = 20
	opFlush       = 25
	opInit        = 26
	opInterrupt   = 36
	opDestroy     = 38
	opBatchForget = 42
)

const (
	headerIn  = 40 // bytes before a request's own
	headerOut = 16
	maxWrite  = 1 << 20
	// reader -> worker. The kernel sends more requests than one at a time only to a file with
	// several users.
	requestsMax = 16
)

var order = binary.NativeEndian

// request is a request of the kernel.
type request struct {
	op       uint32
	unique   uint64
	body     []byte
	received int // position of the recording
}

// Mount is a disk that is attached as a file.
type Mount struct {
	path string
	done chan struct{} // closed when the file is no longer served
}

// Attach mounts the disk on an existing regular file.
func (d *Disk) Attach(path string) (*Mount, error) {
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening /dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=100000,user_id=0,group_id=0", fd)
	if err := syscall.Mount("crashdisk", path, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		syscall.Close(fd)
		return nil, fmt.Errorf("mounting the disk on %s: %w", path, err)
	}
	m := &Mount{path, make(chan struct{})}
	requests := make(chan request, requestsMax)
	go d.receive(fd, requests)
	go func() {
		defer close(m.done)
		defer syscall.Close(fd)
		for r := range requests {
			d.answer(fd, r)
		}
	}()
	return m, nil
}

// Detach unmounts the file, which nothing may use any more, and waits until it is not served.
func (m *Mount) Detach() error {
	if err := syscall.Unmount(m.path, 0); err != nil {
		return fmt.Errorf("unmounting %s: %w", m.path, err)
	}
	<-m.done
	return nil
}

// receive reads requests until the file is unmounted, and closes the channel then.
func (d *Disk) receive(fd int, requests chan<- request) {
	defer close(requests)
	b := make([]byte, maxWrite+4096)
	for {
		n, err := syscall.Read(fd, b)
		if errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.ENOENT) {
			continue // ENOENT: the request was aborted
		}
		if err != nil || n < headerIn {
			return // ENODEV: unmounted
		}
		requests <- request{order.Uint32(b[4:]), order.Uint64(b[8:]), slices.Clone(b[headerIn:n]), d.event()}
	}
}

// answer carries out a request and replies to it.
func (d *Disk) answer(fd int, r request) {
	body, errno := d.carryOut(r)
	if r.op == opForget || r.op == opBatchForget || r.op == opInterrupt {
		return // these have no reply
	}
	b := make([]byte, headerOut, headerOut+len(body))
	order.PutUint32(b, uint32(headerOut+len(body)))
	order.PutUint32(b[4:], uint32(-int32(errno)))
	order.PutUint64(b[8:], r.unique)
	syscall.Write(fd, append(b, body...)) //nolint:errcheck // a request that was aborted
}

// carryOut returns the reply's body. Its writes and flushes are recorded before the reply is sent.
func (d *Disk) carryOut(r request) (body []byte, errno syscall.Errno) {
	switch r.op {
	case opInit:
		return initReply(), 0
	case opGetAttr, opSetAttr:
		return d.attributes(), 0
	case opOpen:
		b := make([]byte, 16)
		order.PutUint32(b[8:], 1) // FOPEN_DIRECT_IO: the kernel caches nothing
		return b, 0
	case opRead:
		at, n := int64(order.Uint64(r.body[8:])), int64(order.Uint32(r.body[16:]))
		b := make([]byte, max(0, min(n, d.size-at)))
		d.readAt(b, at)
		return b, 0
	case opWrite:
		at, n := int64(order.Uint64(r.body[8:])), int64(order.Uint32(r.body[16:]))
		if at+n > d.size {
			return nil, syscall.ENOSPC
		}
		d.writeAt(r.body[40:40+n], at, r.received)
		return order.AppendUint64(nil, uint64(n)), 0
	case opFsync:
		d.flush(r.received)
		return nil, 0
	case opFlush, opRelease, opDestroy:
		return nil, 0
	}
	return nil, syscall.ENOSYS
}

func initReply() []byte {
	b := make([]byte, 64)
	order.PutUint32(b, 7)
	order.PutUint32(b[4:], 31)
	order.PutUint32(b[8:], maxWrite)          // read-ahead
	order.PutUint32(b[12:], 1|1<<5|1<<22)     // FUSE_ASYNC_READ, FUSE_BIG_WRITES, FUSE_MAX_PAGES
	order.PutUint16(b[16:], requestsMax)      // background requests
	order.PutUint32(b[20:], maxWrite)         //
	order.PutUint32(b[24:], 1)                // granularity of times
	order.PutUint16(b[28:], maxWrite/(4<<10)) // pages of a request
	return b
}

// attributes returns the file's, valid for an hour.
func (d *Disk) attributes() []byte {
	b := make([]byte, 16+88)
	order.PutUint64(b, 3600)
	a := b[16:]
	order.PutUint64(a, 1) // inode
	order.PutUint64(a[8:], uint64(d.size))
	order.PutUint64(a[16:], uint64(d.size/512))
	order.PutUint32(a[60:], syscall.S_IFREG|0o600)
	order.PutUint32(a[64:], 1) // links
	order.PutUint32(a[68:], uint32(os.Getuid()))
	order.PutUint32(a[72:], uint32(os.Getgid()))
	order.PutUint32(a[80:], 4096) // block size
	return b
}
