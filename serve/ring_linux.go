package serve

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// sendRing submits lists of sends to the kernel: see io_uring(7). A list has ringSize sends at
// most. None of them waits, so all have ended when the call that submits them returns.
//
// The two sides share memory. The submission queue has entries that this side writes, and the
// completion queue has entries that the kernel writes. Each queue has a head, which its reader
// moves, and a tail, which its writer moves; both count on without end.
type sendRing struct {
	fd      int
	queues  []byte // shared memory: heads, tails, completions
	memory  []byte // shared memory: submissions
	entries []submission
	ended   []completion
	tail    *atomic.Uint32 // of the submission queue
	head    *atomic.Uint32 // of the completion queue
	endTail *atomic.Uint32 // of the completion queue

	next    uint32           // tail of the submission queue, unsubmitted sends included
	count   int              // sends that are not submitted yet
	texts   [ringSize][]byte // of those sends
	results [ringSize]int32
}

// ringSize is how many sends a ring takes at once. With some microseconds each they delay a stop of
// all threads, as the garbage collector needs it, by a few hundred microseconds at most.
const ringSize = 64

// System calls and constants of io_uring that package syscall lacks: see io_uring.h of Linux.
const (
	sysRingSetup, sysRingEnter = 425, 426

	setupSubmitAll   = 1 << 7 // go on after a submission that cannot start; since Linux 5.18
	enterGetEvents   = 1 << 0 // wait for completions
	opSend           = 26
	offsetQueues     = 0 // of mmap
	offsetEntries    = 0x10000000
	submissionSize   = 64 // bytes
	completionSize   = 16 // bytes
	featureOneMemory = 1 << 0
)

// submission is an entry of the submission queue (struct io_uring_sqe).
type submission struct {
	operation uint8
	flags     uint8
	priority  uint16
	fd        int32
	offset    uint64
	address   uint64
	length    uint32
	sendFlags uint32
	userData  uint64 // index in results
	_         [24]byte
}

// completion is an entry of the completion queue (struct io_uring_cqe).
type completion struct {
	userData uint64
	result   int32 // bytes that were sent, or a negative errno
	flags    uint32
}

// ringParams are the parameters of io_uring_setup (struct io_uring_params).
type ringParams struct {
	submissions, completions, flags, threadCPU, threadIdle, features, workers uint32
	_                                                                         [3]uint32
	// offsets in the queues
	submissionAt struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	completionAt struct {
		head, tail, mask, entries, overflow, queue, flags, _ uint32
		_                                                    uint64
	}
}

// newSendRing returns a ring that has sent something. An error means that the kernel refuses.
func newSendRing() (*sendRing, error) {
	p := ringParams{flags: setupSubmitAll}
	fd, _, errno := syscall.Syscall(sysRingSetup, ringSize, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, os.NewSyscallError("io_uring_setup", errno)
	}
	r := &sendRing{fd: int(fd)} // it is closed on exec
	err := r.share(&p)
	if err == nil {
		err = r.probe()
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// share maps the memory that is shared with the kernel.
func (r *sendRing) share(p *ringParams) (err error) {
	if p.features&featureOneMemory == 0 || p.submissions != ringSize || p.completions < ringSize {
		return errors.ErrUnsupported
	}
	size := max(p.submissionAt.array+4*p.submissions, p.completionAt.queue+completionSize*p.completions)
	const access, kind = syscall.PROT_READ | syscall.PROT_WRITE, syscall.MAP_SHARED | syscall.MAP_POPULATE
	if r.queues, err = syscall.Mmap(r.fd, offsetQueues, int(size), access, kind); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	if r.memory, err = syscall.Mmap(r.fd, offsetEntries, submissionSize*ringSize, access, kind); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	at := func(offset uint32) unsafe.Pointer { return unsafe.Pointer(&r.queues[offset]) }
	r.tail = (*atomic.Uint32)(at(p.submissionAt.tail))
	r.head = (*atomic.Uint32)(at(p.completionAt.head))
	r.endTail = (*atomic.Uint32)(at(p.completionAt.tail))
	r.entries = unsafe.Slice((*submission)(unsafe.Pointer(&r.memory[0])), ringSize)
	r.ended = unsafe.Slice((*completion)(at(p.completionAt.queue)), p.completions)
	order := unsafe.Slice((*uint32)(at(p.submissionAt.array)), ringSize)
	for i := range order {
		order[i] = uint32(i) // the entries are submitted in the order of their places
	}
	return nil
}

// probe sends a byte, because a kernel may have io_uring and refuse this use of it.
func (r *sendRing) probe() error {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	defer syscall.Close(pair[0])
	defer syscall.Close(pair[1])
	r.add(pair[0], []byte{0})
	if started := r.start(1); started != 1 || r.endTail.Load() != r.head.Load()+1 {
		return errors.ErrUnsupported
	}
	r.collect(1)
	if r.count = 0; r.results[0] != 1 {
		return errors.ErrUnsupported
	}
	return nil
}

// close frees the ring.
func (r *sendRing) close() {
	for _, m := range [][]byte{r.queues, r.memory} {
		if m != nil {
			syscall.Munmap(m)
		}
	}
	syscall.Close(r.fd)
}

// add adds a send of p, of which there may be ringSize before submit. Until submit has
// returned, the descriptor must not be closed, and p, which is on the heap, must not change.
func (r *sendRing) add(fd int, p []byte) {
	r.entries[r.next%ringSize] = submission{operation: opSend, fd: int32(fd),
		address: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(p)))), length: uint32(len(p)),
		sendFlags: syscall.MSG_DONTWAIT | syscall.MSG_NOSIGNAL, userData: uint64(r.count)}
	r.texts[r.count] = p
	r.next++
	r.count++
}

// submit sends all, and returns the results in the order of add: the number of bytes that the
// kernel has taken, or a negative errno. They are valid until the next add.
func (r *sendRing) submit() []int32 {
	n := r.count
	started := r.start(n)
	r.collect(started)
	for i := started; i < n; i++ { // the kernel has refused them, for want of memory
		s := &r.entries[(r.next+uint32(i-started))%ringSize]
		k, errno := rawWrite(int(s.fd), r.texts[i])
		if r.results[i] = int32(k); errno != 0 {
			r.results[i] = -int32(errno)
		}
	}
	clear(r.texts[:n])
	r.count = 0
	return r.results[:n]
}

// start submits n sends and returns how many the kernel has started. It takes the others back.
func (r *sendRing) start(n int) (started int) {
	r.tail.Store(r.next)
	for started < n {
		k, errno := rawEnter(r.fd, n-started, 0, 0)
		if errno != 0 || k == 0 { // whatever the reason: single system calls send the others
			break
		}
		started += k
	}
	r.next -= uint32(n - started)
	r.tail.Store(r.next)
	return started
}

// collect stores the results of n sends.
func (r *sendRing) collect(n int) {
	for at := r.head.Load(); n > 0; {
		for ; at != r.endTail.Load(); at++ {
			c := &r.ended[at%uint32(len(r.ended))]
			r.results[c.userData] = c.result
			n--
		}
		r.head.Store(at)
		if n > 0 { // some have not ended: not seen yet with sends that do not wait
			rawEnter(r.fd, 0, n, enterGetEvents)
		}
	}
}
