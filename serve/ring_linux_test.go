package serve

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// openRing returns a ring. The test is skipped only where the kernel refuses io_uring_setup: an
// error after it may be a fault of this package.
func openRing(t *testing.T) *sendRing {
	t.Helper()
	r, err := newSendRing()
	if refused := new(os.SyscallError); errors.As(err, &refused) && refused.Syscall == "io_uring_setup" {
		t.Skipf("this kernel takes no rings: %v", err)
	}
	if err != nil {
		t.Fatalf("the kernel takes a ring, but opening it got error %v, want none", err)
	}
	t.Cleanup(r.close)
	return r
}

// socketPair returns two connected sockets. Writes to the first do not wait.
func socketPair(t *testing.T) [2]int {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(pair[0]); syscall.Close(pair[1]) })
	return [2]int(pair)
}

func readsText(t *testing.T, fd int, want string) {
	t.Helper()
	got := make([]byte, len(want)+1)
	if n, err := syscall.Read(fd, got); err != nil || string(got[:max(n, 0)]) != want {
		t.Errorf("got %q, error %v; want %q", got[:max(n, 0)], err, want)
	}
}

// More submissions than the queues have places: head and tail wrap around.
func TestARingSendsAsOftenAsItIsAsked(t *testing.T) {
	r, pair := openRing(t), socketPair(t)
	for round := range 100 {
		n := 1 + round%ringSize
		want := ""
		for i := range n {
			text := string(rune('a' + (round+i)%26))
			r.add(pair[0], []byte(text))
			want += text
		}
		for i, result := range r.submit() {
			if result != 1 {
				t.Fatalf("round %d, send %d: got result %d, want 1", round, i, result)
			}
		}
		readsText(t, pair[1], want)
	}
}

func TestAClosedRingHoldsNoDescriptor(t *testing.T) {
	r := openRing(t)
	open, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", r.fd))
	if err != nil {
		t.Skip(err)
	}
	again, err := newSendRing()
	if err != nil {
		t.Fatal(err)
	}
	again.close()
	if closed, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", again.fd)); closed == open {
		t.Errorf("after close: descriptor %d is %s, want it closed", again.fd, closed)
	}
}

func TestARingReportsEachResult(t *testing.T) {
	r, open, full, gone := openRing(t), socketPair(t), socketPair(t), socketPair(t)
	syscall.SetNonblock(full[0], true)
	for err := error(nil); err == nil; {
		_, err = syscall.Write(full[0], make([]byte, 4096))
	}
	syscall.SetNonblock(full[0], false) // the send itself must not wait
	syscall.Shutdown(gone[1], syscall.SHUT_RDWR)
	for _, fd := range []int{open[0], full[0], gone[0], 1 << 20, open[0]} {
		r.add(fd, []byte("text"))
	}
	want := []int32{4, -int32(syscall.EAGAIN), -int32(syscall.EPIPE), -int32(syscall.EBADF), 4}
	for i, got := range r.submit() {
		if got != want[i] {
			t.Errorf("send %d: got %d, want %d", i, got, want[i])
		}
	}
	readsText(t, open[1], "texttext")
}

// If the kernel does not take a submission, the sends are made by single system calls.
func TestARingThatTheKernelNoLongerTakesSendsNevertheless(t *testing.T) {
	r, pair := openRing(t), socketPair(t)
	nowhere, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer nowhere.Close()
	ring := r.fd
	for range 3 {
		r.fd = int(nowhere.Fd())
		r.add(pair[0], []byte("a"))
		r.add(1<<20, []byte("b"))
		r.add(pair[0], []byte("c"))
		got := r.submit()
		if got[0] != 1 || got[1] != -int32(syscall.EBADF) || got[2] != 1 {
			t.Fatalf("got results %v, want 1, EBADF and 1", got)
		}
		readsText(t, pair[1], "ac")
		r.fd = ring
		r.add(pair[0], []byte("d"))
		if got := r.submit(); got[0] != 1 {
			t.Fatalf("after that: got result %d, want 1", got[0])
		}
		readsText(t, pair[1], "d")
	}
}
