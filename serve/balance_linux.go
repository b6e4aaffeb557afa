package serve

import (
	"net"
	"syscall"
)

// Connections are spread over the loops of a run, and over pre-forked processes.
//
// All loops wait for one listener, exclusively: the kernel wakes the first waiter in its queue,
// which would always be the same loop while connections come one after another. A loop that has
// accepted therefore moves to the end of the queue, by two system calls that wake no thread. Within
// a process a loop also knows how many connections the others have, and hands a new connection to
// the loop that has fewest.

// arrival is a connection that another loop has accepted.
type arrival struct {
	fd     int
	remote net.Addr
}

// slack is by how many connections loops may differ before one is handed over.
const slack = 1

// take begins a connection that was accepted, in the loop that has fewest.
func (l *loop) take(fd int, remote net.Addr) {
	if least := l.least(); least == l || !least.hand(arrival{fd, remote}) {
		l.load.Add(1)
		l.begin(fd, remote, nil)
	}
}

// least returns the loop for the next connection: this one unless another has fewer connections by
// more than the slack.
func (l *loop) least() *loop {
	least, fewest := l, l.load.Load()-slack
	for _, other := range l.all {
		if n := other.load.Load(); n < fewest {
			least, fewest = other, n
		}
	}
	return least
}

// hand gives the loop a connection. It reports false when the loop stops. Any goroutine.
func (l *loop) hand(a arrival) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop {
		return false
	}
	l.load.Add(1)
	l.arrivals = append(l.arrivals, a)
	l.poller.wake()
	return true
}

// requeue has the loop be the last that the kernel wakes for the listener.
func (l *loop) requeue() {
	if l.listener < 0 || l.paused != 0 || len(l.all) == 1 && !l.o.Inherited {
		return // no other loop waits
	}
	l.poller.remove(l.listener)
	l.resumeAccepting()
}

// accept takes the connections that wait, some of them in this turn.
func (l *loop) accept() {
	defer l.requeue()
	for range acceptsPerTurn {
		fd, sa, err := syscall.Accept4(l.listener, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err == nil {
			if !l.heirs { // it may have been in the queue before the listener was prepared
				prepareSocket(fd)
			}
			l.strays = 0
			l.take(fd, address(sa))
			continue
		}
		if err == syscall.EAGAIN {
			l.heirs = true
			return
		}
		if !l.refused(err) {
			return
		}
	}
}

// refused deals with an error of accept, and reports whether to try again at once.
func (l *loop) refused(err error) bool {
	v := judge(err)
	if l.strays++; v == acceptAgain && l.strays < acceptsPerTurn {
		return true
	}
	if v == acceptFailed {
		l.fail(err)
		return false
	}
	if v == acceptLater {
		l.cutLingering()
	}
	l.pauseAccepting() // also when every connection fails
	return false
}
