package nat

import (
	"testing"

	"golang.org/x/sys/unix"
)

// recorder counts its events.
type recorder struct{ events int }

// ready implements socket.
func (r *recorder) ready(uint32) { r.events++ }

// abandon implements socket.
func (r *recorder) abandon() {}

// An event belongs to the socket it was reported for. While it waits to be handled, another
// goroutine may close that socket, and a new one gets its descriptor: a connection that is being
// made would be taken for one that is there.
func TestAnEventIsNotThatOfALaterSocket(t *testing.T) {
	p, err := newPoller(func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	var fds []int
	var all [2]recorder
	for i := range all {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if fds = append(fds, fd); fds[i] != fds[0] {
			t.Skipf("the second socket is %d, not %d: another goroutine has opened a file", fds[i], fds[0])
		}
		if err := p.add(fd, &all[i], unix.EPOLLOUT|unix.EPOLLET); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if n, err := unix.EpollWait(p.epollFD, p.events[:], 0); n != 1 {
				t.Fatalf("got %d events and %v, want 1: the socket can be written", n, err)
			}
			p.remove(fd)
		}
	}
	if s := p.socketOf(&p.events[0]); s != nil {
		t.Error("the event of a closed socket was given to the next one with its descriptor")
	}
	p.poll()
	if all[0].events != 0 || all[1].events != 1 {
		t.Errorf("got %d and %d events, want none for the closed socket and 1 for the other one", all[0].events, all[1].events)
	}
	p.remove(fds[1])
}
