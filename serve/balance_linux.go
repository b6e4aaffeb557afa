package serve

import (
	"net"
	"syscall"
)

// Load balancing of connections over the loops of a run, and over pre-forked processes.
//
// All loops wait for one listener, with EPOLLEXCLUSIVE. The kernel wakes the first waiter in its
// queue, which would always be the same loop while connections come one after another. A loop that
// has accepted therefore moves to the end of the queue, by two system calls that wake no thread.
// Within a process a loop also knows how many connections its siblings have, and gives a new
// connection to the loop with the fewest.

// acceptedConn is a connection that another loop has accepted.
type acceptedConn struct {
	fd     int
	remote net.Addr
}

// maxImbalance is by how many connections loops may differ before a new connection goes to another
// loop.
const maxImbalance = 1

// place opens an accepted connection in the loop that has the fewest connections.
func (l *loop) place(fd int, remote net.Addr) {
	if least := l.leastLoaded(); least == l || !least.give(acceptedConn{fd, remote}) {
		l.connCount.Add(1)
		l.open(fd, remote, nil)
	}
}

// leastLoaded returns the loop for the next connection: this one unless another has fewer
// connections by more than maxImbalance.
func (l *loop) leastLoaded() *loop {
	least, fewest := l, l.connCount.Load()-maxImbalance
	for _, other := range l.siblings {
		if n := other.connCount.Load(); n < fewest {
			least, fewest = other, n
		}
	}
	return least
}

// give passes a connection to the loop. It reports whether the loop took it: a stopping loop does
// not. Any goroutine may call it.
func (l *loop) give(a acceptedConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopPosted {
		return false
	}
	l.connCount.Add(1)
	l.givenConns = append(l.givenConns, a)
	l.poller.wake()
	return true
}

// requeueListener moves the loop to the end of the kernel's queue of waiters for the listener.
func (l *loop) requeueListener() {
	if l.listenerFD < 0 || l.resumeAcceptAt != 0 || len(l.siblings) == 1 && !l.options.IsChild {
		return // no other loop waits for the listener
	}
	l.poller.remove(l.listenerFD)
	l.resumeAccepting()
}

// accept accepts pending connections, at most acceptsPerTurn.
func (l *loop) accept() {
	defer l.requeueListener()
	for range acceptsPerTurn {
		fd, remote, err := rawAccept(l.listenerFD)
		if err == 0 {
			// it may have been queued before the listener's socket options were set
			if !l.inheritsOptions {
				setSocketOptions(fd)
			}
			l.acceptErrors = 0
			l.place(fd, remote)
			continue
		}
		if err == syscall.EAGAIN {
			l.inheritsOptions = true
			return
		}
		if !l.retryAccept(err) {
			return
		}
	}
}

// retryAccept handles an error of accept, and reports whether to try again at once.
func (l *loop) retryAccept(err error) bool {
	v := classifyAcceptError(err)
	if l.acceptErrors++; v == acceptAgain && l.acceptErrors < acceptsPerTurn {
		return true
	}
	if v == acceptFailed {
		l.failAccept(err)
		return false
	}
	if v == acceptLater {
		l.cutLingering()
	}
	l.pauseAccepting() // also if every connection fails
	return false
}
