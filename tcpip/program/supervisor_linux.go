//go:build amd64 || arm64

package program

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"weir/tcpip"
)

// maxFinished is the number of sockets that are remembered after both directions of their
// connections have ended, while the program may not have closed them yet.
const maxFinished = 1024

// maxSaid is the number of lines that Config.Refused gets. Programs choose what is in them, such as
// their names, so there may be any number of them.
const maxSaid = 100

// maxUnsent limits the answers that are kept.
const maxUnsent = 1024

// supervisor answers the calls of a program and of all that it starts.
type supervisor struct {
	config   Config
	stack    *tcpip.Stack
	listener *listener
	tasks    sync.WaitGroup // goroutines of sockets and of waiting calls

	mu       sync.Mutex // guards what follows. No other lock is taken under it
	sockets  map[uint64]socket
	finished []uint64 // inodes in sockets, the oldest first
	// cancels the waiting call of a thread: a thread waits for one call at a time, and calls again
	// after a signal
	waiting map[uint32]chan struct{}
	said    map[string]bool // lines that Config.Refused has got
	unsaid  int             // refusals of which Config.Refused has got no line
	// by thread: an answer that came too late, because a signal had interrupted the call
	unsent map[uint32]unsentAnswer

	ports portTable
}

func newSupervisor(c Config, fd int) (*supervisor, error) {
	l, err := newListener(fd)
	if err != nil {
		return nil, err
	}
	if c.Refused == nil {
		c.Refused = func(string) {}
	}
	return &supervisor{config: c, stack: c.Stack, listener: l, sockets: map[uint64]socket{}, waiting: map[uint32]chan struct{}{}, said: map[string]bool{}, unsent: map[uint32]unsentAnswer{}}, nil
}

// lingerTime is how long connections may take to send what programs that have ended have written.
const lingerTime = 5 * time.Second

// run answers calls until no process has the filter, and ends the sockets.
func (s *supervisor) run() {
	for {
		n, err := s.listener.receive()
		if err != nil {
			break
		}
		c := &call{notification: n, s: s}
		s.cancelWait(c.tid)
		a, ok := s.takeUnsent(&n)
		if !ok {
			a = c.handle()
		}
		c.finish(a)
	}
	s.mu.Lock()
	for _, cancel := range s.waiting {
		close(cancel)
	}
	clear(s.waiting)
	s.mu.Unlock()
	late := time.AfterFunc(lingerTime, s.abortAll)
	s.tasks.Wait()
	late.Stop()
	s.explainRest()
}

// abortAll resets all connections.
func (s *supervisor) abortAll() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.sockets))
	s.mu.Unlock()
	for _, k := range all {
		k.abort()
	}
}

// unsentAnswer is the answer of a call that was executed, but whose thread did not wait for it any
// more. The thread gets it when it makes the same call again, as the kernel has it do after a
// signal, or the program after EINTR: so a call is not executed twice.
type unsentAnswer struct {
	call   notification
	answer answer
}

// keepUnsent keeps the answer of a call that has changed something for the next call of the thread.
func (s *supervisor) keepUnsent(n notification, a answer) {
	if a.errno != 0 && a.errno != unix.EINPROGRESS {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unsent) >= maxUnsent { // threads that were killed do not call again
		clear(s.unsent)
	}
	s.unsent[n.tid] = unsentAnswer{n, a}
}

// takeUnsent returns the answer that was kept for a call.
func (s *supervisor) takeUnsent(n *notification) (a answer, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.unsent[n.tid]
	if ok {
		delete(s.unsent, n.tid)
	}
	return u.answer, ok && u.call.number == n.number && u.call.args == n.args && u.call.ip == n.ip
}

// cancelWait ends the waiting call of a thread, which a signal has interrupted.
func (s *supervisor) cancelWait(tid uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel, ok := s.waiting[tid]; ok {
		close(cancel)
		delete(s.waiting, tid)
	}
}

// add remembers a socket by its inode.
func (s *supervisor) add(inode uint64, k socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets[inode] = k
}

// remove forgets a socket that the program has closed.
func (s *supervisor) remove(inode uint64, k socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sockets[inode] == k {
		delete(s.sockets, inode)
	}
}

// retire remembers a socket for a while that the program may have closed.
func (s *supervisor) retire(inode uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished = append(s.finished, inode); len(s.finished) > maxFinished {
		if k, ok := s.sockets[s.finished[0]]; ok && k.isFinished() { // the inode may be reused
			delete(s.sockets, s.finished[0])
		}
		s.finished = s.finished[1:]
	}
}

// explain says once why a call is refused.
func (s *supervisor) explain(line string) {
	s.mu.Lock()
	said := s.said[line]
	full := !said && len(s.said) == maxSaid
	if full {
		s.unsaid++
	} else {
		s.said[line] = true
	}
	s.mu.Unlock()
	if !said && !full {
		s.config.Refused(line)
	}
}

// explainRest says at the end how many refusals were not explained.
func (s *supervisor) explainRest() {
	if s.unsaid > 0 {
		s.config.Refused(fmt.Sprintf("%d more calls were refused: there are lines for the first %d kinds only", s.unsaid, maxSaid))
	}
}

// socketOf returns the socket that a descriptor of a thread is; nil: it is none of the stack's.
func (s *supervisor) socketOf(tid uint32, fd int) (socket, unix.Errno) {
	var text [64]byte
	n, err := unix.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, fd), text[:])
	if err != nil {
		if err == unix.EACCES {
			return nil, unix.EACCES
		}
		return nil, 0 // the kernel gives the error
	}
	inode, ok := parseInode(text[:n])
	if !ok {
		return nil, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sockets[inode], 0
}

// parseInode parses the target of a link in /proc/PID/fd: socket:[123].
func parseInode(target []byte) (inode uint64, ok bool) {
	const prefix = "socket:["
	if len(target) < len(prefix)+2 || string(target[:len(prefix)]) != prefix {
		return 0, false
	}
	for _, digit := range target[len(prefix) : len(target)-1] {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		inode = 10*inode + uint64(digit-'0')
	}
	return inode, true
}

// fetch returns a copy of a descriptor of a thread, which the caller closes.
func fetch(tid uint32, fd int) (int, error) {
	pidfd, err := unix.PidfdOpen(int(tid), unix.PIDFD_THREAD)
	if err == unix.EINVAL { // before Linux 6.9: processes only
		pidfd, err = unix.PidfdOpen(processOf(tid), 0)
	}
	if err != nil {
		return -1, os.NewSyscallError("pidfd_open", err)
	}
	defer unix.Close(pidfd)
	own, err := unix.PidfdGetfd(pidfd, fd, 0)
	return own, os.NewSyscallError("pidfd_getfd", err)
}

// processOf returns the process of a thread, or the thread itself if it has ended.
func processOf(tid uint32) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(line, "Tgid:"); ok {
			if pid, err := strconv.Atoi(strings.TrimSpace(id)); err == nil {
				return pid
			}
		}
	}
	return int(tid)
}
