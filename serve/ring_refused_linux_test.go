package serve

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// refusedCall is a system call that a filter answers with an error, if the second argument of the
// call is at most maxCount.
type refusedCall struct {
	number, maxCount uint32
	errno            syscall.Errno // 0: the call returns 0
}

// onFilteredThread calls f on a thread of its own that has a seccomp filter, which ends with the
// thread. f must not call FailNow.
func onFilteredThread(t *testing.T, refused refusedCall, f func()) {
	t.Helper()
	// the goroutine below -> this call: that it has ended; never sent to, closed by it
	ended := make(chan struct{})
	var errno syscall.Errno
	go func() {
		defer close(ended)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if errno = refused.install(); errno == 0 {
			f()
		}
	}()
	if <-ended; errno != 0 {
		t.Skipf("this kernel takes no seccomp filter: %v", errno)
	}
}

// install gives the calling thread a filter: see seccomp(2).
func (c refusedCall) install() syscall.Errno {
	const (
		setNoNewPrivileges, setSeccomp, filterMode = 38, 22, 2 // of prctl
		returnErrno, allow                         = 0x00050000, 0x7fff0000
		load, equal, greater, result               = 0x20, 0x15, 0x25, 0x06 // of filters
		numberAt, secondArgumentAt                 = 0, 24                  // little-endian
	)
	filter := []syscall.SockFilter{
		{Code: load, K: numberAt},
		{Code: equal, K: c.number, Jf: 3},
		{Code: load, K: secondArgumentAt},
		{Code: greater, K: c.maxCount, Jt: 1},
		{Code: result, K: returnErrno | uint32(c.errno)},
		{Code: result, K: allow},
	}
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, setNoNewPrivileges, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	_, _, errno := syscall.Syscall(syscall.SYS_PRCTL, setSeccomp, filterMode, uintptr(unsafe.Pointer(&program)))
	return errno
}

// eachRefusal calls f for the answers of filters to a system call.
func eachRefusal(t *testing.T, calls map[string]uint32, f func(t *testing.T, c refusedCall)) {
	for name, number := range calls {
		for _, errno := range []syscall.Errno{0, syscall.EPERM, syscall.ENOSYS, syscall.EACCES, syscall.EAGAIN, syscall.EBUSY, syscall.EINTR, syscall.ENOMEM} {
			if errno == 0 && number == sysRingSetup {
				continue // 0 is the descriptor of another file
			}
			t.Run(fmt.Sprintf("%s/%d", name, errno), func(t *testing.T) {
				f(t, refusedCall{number, math.MaxUint32, errno})
			})
		}
	}
}

// Where a filter refuses io_uring, or only its submissions, each text is sent by itself.
func TestAFanoutSendsWhereAFilterRefusesRings(t *testing.T) {
	s, opened := reachableService()
	r := startService(t, Loop, sessions, s, Options{})
	peers, reached := r.connect(opened, 3)
	eachRefusal(t, map[string]uint32{"io_uring_setup": sysRingSetup, "io_uring_enter": sysRingEnter}, func(t *testing.T, c refusedCall) {
		batch := outgoingTo(reached, func(i int) []byte { return []byte{'a' + byte(i)} })
		var by Fanout
		defer by.Close()
		onFilteredThread(t, c, func() { by.Send(batch) })
		if by.ring != nil {
			t.Error("got a ring, want none")
		}
		for i, c := range peers {
			got := make([]byte, 1)
			if _, err := io.ReadFull(c, got); err != nil || got[0] != 'a'+byte(i) || !batch[i].Taken {
				t.Errorf("connection %d: got %q, error %v, taken %v; want %q, taken", i, got, err, batch[i].Taken, 'a'+byte(i))
			}
		}
	})
	r.stopsCleanly()
}

// A ring that was open before a filter came sends nevertheless.
func TestARingThatAFilterRefusesSendsNevertheless(t *testing.T) {
	eachRefusal(t, map[string]uint32{"io_uring_enter": sysRingEnter}, func(t *testing.T, c refusedCall) {
		r, pair := openRing(t), socketPair(t)
		onFilteredThread(t, c, func() {
			r.add(pair[0], []byte("a"))
			r.add(pair[0], []byte("b"))
			for i, result := range r.submit() {
				if result != 1 {
					t.Errorf("send %d: got result %d, want 1", i, result)
				}
			}
		})
		readsText(t, pair[1], "ab")
	})
}

// The kernel takes the first sends of a submission, and refuses the others: these are made by
// single system calls. The next submission is not affected.
func TestARingOfWhichTheKernelTakesAPartSendsAll(t *testing.T) {
	openRing(t) // skips the test where the kernel has none
	r, pair := openStoppingRing(t), socketPair(t)
	send := func(prefix string) {
		for i := range 5 {
			r.add(pair[0], fmt.Appendf(nil, "%s%d", prefix, i))
		}
	}
	refused := refusedCall{number: sysRingEnter, maxCount: 3, errno: syscall.EAGAIN}
	onFilteredThread(t, refused, func() {
		for round := range 3 * ringSize {
			first := r.next
			send(string(rune('a' + round%26)))
			r.entries[(first+1)%ringSize].operation = 0xff // invalid: the submission stops after it
			for i, got := range r.submit() {
				if want := int32(2); i == 1 && got != -int32(syscall.EINVAL) || i != 1 && got != want {
					t.Errorf("round %d, send %d: got result %d, want %d, and EINVAL for the second", round, i, got, want)
				}
			}
			p := string(rune('a' + round%26))
			readsText(t, pair[1], p+"0"+p+"2"+p+"3"+p+"4")
		}
	})
}

// openStoppingRing returns a ring whose submissions stop after an invalid send.
func openStoppingRing(t *testing.T) *sendRing {
	t.Helper()
	var p ringParams
	fd, _, errno := syscall.Syscall(sysRingSetup, ringSize, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	r := &sendRing{fd: int(fd)}
	t.Cleanup(r.close)
	if err := r.share(&p); err != nil {
		t.Fatal(err)
	}
	return r
}

// Where descriptors ran out at the first delivery, a later delivery opens the ring.
func TestAFanoutOpensItsRingWhenDescriptorsAreFreeAgain(t *testing.T) {
	openRing(t) // skips the test where the kernel has none
	s, opened := reachableService()
	r := startService(t, Loop, sessions, s, Options{})
	peers, reached := r.connect(opened, 2)
	var by Fanout
	defer by.Close()
	send := func(text string) {
		t.Helper()
		by.Send(outgoingTo(reached, func(int) []byte { return []byte(text) }))
		for i, c := range peers {
			got := make([]byte, 1)
			if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
				t.Errorf("connection %d: got %q, error %v; want %q", i, got, err, text)
			}
		}
	}
	withoutDescriptors(t, func() { send("a") })
	if by.ring != nil {
		t.Error("without descriptors: got a ring, want none")
	}
	if send("b"); by.ring == nil {
		t.Error("with descriptors again: got no ring, want one")
	}
	r.stopsCleanly()
}

// withoutDescriptors calls f while the process can open no file.
func withoutDescriptors(t *testing.T, f func()) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	set := func(l syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
			t.Error(err)
		}
	}
	set(syscall.Rlimit{Max: limit.Max})
	defer set(limit)
	f()
}
