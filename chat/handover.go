package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"weir/chat/irc"
	"weir/serve"
)

// A service is handed over to another, mostly of another process, that goes on with the same
// clients and the same data directory:
//
//  1. Freeze has commands wait from now on, until what was said is on the disk and delivered, and
//     the desk has nothing to do. Thaw undoes it.
//  2. Dismiss tells those who cannot be handed over (package serve says who), or all, to connect
//     again, and ends them.
//  3. The runs of sessions hand over (serve.ErrHandover). State is the service's own.
//  4. Close. The lock of the data directory is kept by who has called KeepLock, and is handed over
//     too, so that nobody else can have it meanwhile.
//  5. Resume opens the same data directory with that lock and state; its runs begin with the
//     connections. It is frozen until the last of them has been adopted, so that all hear what is
//     said next. Those whose sessions did not come have quit.
//
// Nothing is in two services at once: a message is accepted before the freeze by the first, or
// after the last adoption by the second.

// errFrozen is the error of a freeze that took too long.
var errFrozen = errors.New("chat: what was under way did not come to its end in time")

// errUpgrading is what an administrator is told whose change those would not hear of who have been
// handed over.
var errUpgrading = errors.New("chat: the server is being upgraded: try again")

// Freeze has all commands wait, and returns when nothing is under way any more. When ctx ends
// before, it is undone, which is an error.
func (s *Service) Freeze(ctx context.Context) error {
	s.mu.Lock()
	s.frozen = map[*session]struct{}{}
	s.mu.Unlock()
	for !s.quiet() {
		select {
		case <-ctx.Done():
			s.Thaw()
			return errors.Join(errFrozen, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// quiet says whether nothing is under way: in one hold of the lock, because the last that the desk
// does may be to put a line into a room.
func (s *Service) quiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs == 0 && !s.stirring()
}

// Thaw ends a freeze: commands are run again, and who went meanwhile has gone.
func (s *Service) Thaw() {
	s.mu.Lock()
	defer s.unlock()
	waiting, gone := s.frozen, s.departed
	s.frozen, s.departed = nil, nil
	for _, d := range gone {
		d.session.depart(d.err)
	}
	for session := range waiting {
		session.conn.Post()
	}
}

// departure is the end of a session that others are told of later.
type departure struct {
	session *session
	err     error
}

// freezes has a session wait if all do. The caller holds the lock.
func (s *Service) freezes(session *session) bool {
	if s.frozen == nil {
		return false
	}
	s.frozen[session] = struct{}{}
	if session.leaves() {
		session.conn.Post()
	}
	return true
}

// reconnect is what a client is told whose connection cannot be handed over.
const reconnect = "ERROR :Closing link (The server is being upgraded: connect again)\r\n"

// Dismiss ends the sessions whose connections cannot be handed over, or all, and tells them to
// connect again. The service is frozen. Those who have not registered and say nothing hear nothing:
// they end with their run. It returns how many sessions there are.
func (s *Service) Dismiss(all bool) (sessions int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dismissing, s.dismissAll = true, all
	for _, u := range s.users {
		for _, session := range u.sessions {
			if session.leaves() {
				session.conn.Post()
			}
		}
	}
	for session := range s.frozen {
		if session.leaves() {
			session.conn.Post()
		}
	}
	return s.sessions - len(s.departed)
}

// leaves says whether the session cannot go along. The caller holds the lock.
func (s *session) leaves() bool {
	return s.svc.dismissing && (s.svc.dismissAll || !serve.CanMove(s.conn))
}

var errUpgrade = errors.New("chat: the server is being upgraded")

// KeepLock is a duplicate of the data directory's lock: nobody else can have the directory until
// both, and what was made of both, are closed.
func (s *Service) KeepLock() (*os.File, error) {
	raw, err := s.lock.SyscallConn()
	if err != nil {
		return nil, err
	}
	dup := -1
	var failed error
	err = raw.Control(func(fd uintptr) { dup, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("chat: the lock of %s: %w", s.dir, err)
	}
	return os.NewFile(uintptr(dup), s.lock.Name()), nil
}

// Handed is what a service goes on from.
type Handed struct {
	Lock        *os.File // from KeepLock; taken over
	State       []byte   // from State; nil: there are no connections, and it begins afresh
	Connections int      // that will be adopted
}

// adoptWithin is how long a service that goes on waits for connections that are not adopted.
const adoptWithin = 10 * time.Second

// Resume is Open for a service that goes on where another has ended.
func Resume(dir string, o Options, from Handed) (*Service, error) {
	if from.State == nil {
		return open(dir, o, from.Lock)
	}
	state, err := readState(from.State)
	if err != nil {
		from.Lock.Close()
		return nil, err
	}
	s, err := open(dir, o, from.Lock)
	if err != nil {
		return nil, err
	}
	if err := s.restore(state); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.missing = from.Connections; s.missing == 0 {
		s.settle()
		return s, nil
	}
	s.late = time.AfterFunc(adoptWithin, s.settle)
	return s, nil
}

// settle ends the freeze of a service that goes on. Who has no session by now has quit.
func (s *Service) settle() {
	s.mu.Lock()
	if s.settled {
		s.mu.Unlock()
		return
	}
	s.settled = true
	for _, u := range s.users {
		if len(u.sessions) == 0 {
			s.quit(u, u.parting)
		}
	}
	for addr, v := range s.perAddr {
		if v.n == 0 {
			delete(s.perAddr, addr)
		}
	}
	s.unlock()
	s.Thaw()
}

// Adopt is the session of a connection that was handed over: for serve.Service.
func (s *Service) Adopt(c serve.Conn, state []byte) serve.Session {
	defer s.adopted()
	x, missed, err := s.readSession(c, state)
	if err != nil {
		s.o.Log.Warn("a connection could not be taken over", "error", err)
		c.Send([]byte(reconnect))
		return nil
	}
	if len(missed) > 0 && !c.Send(missed) {
		s.tooSlow(x)
	}
	c.Post() // so that it goes on, and says when to be woken
	return x
}

// adopted counts a connection that was handed over.
func (s *Service) adopted() {
	s.mu.Lock()
	s.missing--
	last := s.missing == 0
	s.mu.Unlock()
	if last {
		s.late.Stop()
		s.settle()
	}
}

// takeLock writes who has the data directory into its lock, which has to be that of this directory.
func takeLock(dir string, lock *os.File) error {
	ours, err := lock.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(filepath.Join(dir, "lock"))
	if err != nil || !os.SameFile(ours, there) {
		return fmt.Errorf("chat: %s is not the data directory that was handed over: stop the server to change it", dir)
	}
	if err := lock.Truncate(0); err != nil {
		return err
	}
	_, err = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// Move implements serve.Movable. Who is in the middle of a login cannot be handed over.
func (s *session) Move(w *serve.Writer) ([]byte, bool) {
	s.svc.mu.Lock()
	defer s.svc.mu.Unlock()
	if s.svc.frozen == nil || s.busy || s.job != nil || s.over != nil || s.sasl != nil || s.leaves() || s.pending.Load() > 0 {
		s.conn.Send([]byte(reconnect))
		return nil, false
	}
	w.Write(s.out) // from the desk
	s.out = nil
	return s.state(), true
}

// key is the user that a session is of, "" for none yet.
func (u *user) key() string {
	if u == nil {
		return ""
	}
	return irc.Fold(u.nick)
}
