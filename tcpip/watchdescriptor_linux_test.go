package tcpip

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/tcpip/link"
)

// The reader of a device waits for a descriptor too, and frames still arrive.
func TestKernelReaderWaitsForADescriptorToo(t *testing.T) {
	p := kernel(t, false)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	got := make(chan byte, 16) // what ready has read -> the test
	var b [1]byte
	raw, err := r.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	ready := func() {
		raw.Read(func(fd uintptr) bool { //nolint:errcheck // it does not wait
			if n, err := unix.Read(int(fd), b[:]); n == 1 && err == nil {
				got <- b[0]
			}
			return true
		})
	}
	watched := false
	if err := raw.Control(func(fd uintptr) { watched = p.stack.WatchDescriptor(int(fd), ready) }); err != nil || !watched {
		t.Fatalf("watching a descriptor by a device: got %v and error %v, want true", watched, err)
	}
	if p.stack.WatchDescriptor(0, func() {}) {
		t.Error("a second descriptor is watched: got true, want false and the first one watched")
	}
	for i := range byte(3) {
		w.Write([]byte{i}) //nolint:errcheck // ready shows it
		select {
		case b := <-got:
			if b != i {
				t.Errorf("got byte %d, want %d", b, i)
			}
		case <-time.After(waitLimit):
			t.Fatal("the descriptor can be read: ready was not called")
		}
		ours, kernels := p.pair(t, i%2 == 0)
		ours.Close()
		kernels.Close()
	}
}

func TestAPairWatchesNoDescriptor(t *testing.T) {
	a, _ := link.Pair(link.PairConfig{})
	s := stack(t, Config{Link: a, Addrs: prefixes("10.0.0.1/24")})
	if s.WatchDescriptor(0, func() {}) {
		t.Error("a link in memory watches a descriptor: got true, want false")
	}
}
