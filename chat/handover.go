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

// A service hands over to another, usually in a new process, which continues with the same clients
// and the same data directory:
//
//  1. Freeze holds all commands back and waits until all posts are stored and delivered and the
//     workers are idle. Thaw undoes it.
//  2. DisconnectUnmovable asks the clients whose connections cannot be handed over (package serve
//     decides), or all clients, to reconnect, and closes their connections.
//  3. The runs of sessions hand over (serve.ErrHandover). HandoverState returns the state of the
//     service itself.
//  4. Close. The caller of DuplicateLock keeps the lock of the data directory and hands it over, so
//     that no other server can take it meanwhile.
//  5. Resume opens the same data directory with that lock and state. Its runs start with the
//     connections. The service is frozen until the last of them has been adopted, so that all
//     clients receive later messages. Users whose sessions did not arrive have quit.
//
// No message is handled twice: it is accepted before the freeze by the first service, or after the
// last adoption by the second.

// errFreezeTimeout reports that a freeze took too long.
var errFreezeTimeout = errors.New("chat: the freeze timed out before all commands and messages were finished")

// errUpgrading refuses administrative changes during a handover: clients that have been handed over
// would not be notified.
var errUpgrading = errors.New("chat: the server is being upgraded: try again")

// Freeze holds back all commands, and returns when no work is unfinished. If ctx ends first, it
// undoes the freeze and returns an error.
func (s *Service) Freeze(ctx context.Context) error {
	s.mu.Lock()
	s.frozenSessions = map[*session]struct{}{}
	s.mu.Unlock()
	for s.isBusy() {
		select {
		case <-ctx.Done():
			s.Thaw()
			return errors.Join(errFreezeTimeout, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// Thaw ends a freeze: commands run again, and sessions that ended meanwhile are detached.
func (s *Service) Thaw() {
	s.mu.Lock()
	defer s.unlockAndCommit()
	waiting, ended := s.frozenSessions, s.deferredDepartures
	s.frozenSessions, s.deferredDepartures = nil, nil
	for _, d := range ended {
		d.session.departLocked(d.err)
	}
	for session := range waiting {
		session.conn.Post()
	}
}

// departure is the end of a session during a freeze; other clients are notified after it.
type departure struct {
	session *session
	err     error
}

// holdIfFrozenLocked reports whether the service is frozen, and if so registers the session for a
// wake-up by Thaw. The caller holds mu.
func (s *Service) holdIfFrozenLocked(session *session) bool {
	if s.frozenSessions == nil {
		return false
	}
	s.frozenSessions[session] = struct{}{}
	if session.mustReconnectLocked() {
		session.conn.Post()
	}
	return true
}

// reconnectLine is sent to a client whose connection cannot be handed over.
const reconnectLine = "ERROR :Closing link (The server is being upgraded: connect again)\r\n"

// DisconnectUnmovable asks the clients whose connections cannot be handed over, or all clients, to
// reconnect, and closes their connections. The service must be frozen. Silent clients that have not
// registered are not notified: they end with their run. It returns the number of sessions.
func (s *Service) DisconnectUnmovable(all bool) (sessions int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustReconnect = reconnectUnmovable
	if all {
		s.mustReconnect = reconnectAll
	}
	for _, u := range s.users {
		for _, session := range u.sessions {
			if session.mustReconnectLocked() {
				session.conn.Post()
			}
		}
	}
	for session := range s.frozenSessions {
		if session.mustReconnectLocked() {
			session.conn.Post()
		}
	}
	return s.sessionCount - len(s.deferredDepartures)
}

// reconnectScope says which clients must reconnect during a handover.
type reconnectScope uint8

const (
	reconnectNone      reconnectScope = iota // no handover has begun
	reconnectUnmovable                       // those whose connections cannot be handed over
	reconnectAll
)

// mustReconnectLocked reports whether the session cannot be handed over. The caller holds mu.
func (s *session) mustReconnectLocked() bool {
	return s.svc.mustReconnect == reconnectAll || s.svc.mustReconnect == reconnectUnmovable && !serve.CanMove(s.conn)
}

var errConnectAgain = errors.New("chat: the server is being upgraded")

// DuplicateLock returns a duplicate of the data directory's lock. No other server can take the
// directory until both, and all their duplicates, are closed.
func (s *Service) DuplicateLock() (*os.File, error) {
	raw, err := s.dataLock.SyscallConn()
	if err != nil {
		return nil, err
	}
	dup := -1
	var failed error
	err = raw.Control(func(fd uintptr) { dup, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("chat: the lock of %s: %w", s.dataDir, err)
	}
	return os.NewFile(uintptr(dup), s.dataLock.Name()), nil
}

// Handover is what Resume continues from.
type Handover struct {
	Lock        *os.File // from DuplicateLock; Resume takes ownership
	State       []byte   // from HandoverState; nil: there are no connections
	Connections int      // number of connections that will be adopted
}

// adoptTimeout is how long a resumed service waits for connections.
const adoptTimeout = 10 * time.Second

// Resume opens a service that continues from another one.
func Resume(dir string, o Options, from Handover) (*Service, error) {
	if from.State == nil {
		return openWithLock(dir, o, from.Lock)
	}
	state, err := readState(from.State)
	if err != nil {
		from.Lock.Close()
		return nil, err
	}
	s, err := openWithLock(dir, o, from.Lock)
	if err != nil {
		return nil, err
	}
	if err := s.runTask(func(t *task) error { return s.restore(t, state) }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.awaitedAdoptions = from.Connections; s.awaitedAdoptions == 0 {
		s.finishAdoption()
		return s, nil
	}
	s.adoptTimer = time.AfterFunc(adoptTimeout, s.finishAdoption)
	return s, nil
}

// finishAdoption ends the freeze of a resumed service. Users without a session have quit.
func (s *Service) finishAdoption() {
	s.mu.Lock()
	if s.adoptionDone {
		s.mu.Unlock()
		return
	}
	s.adoptionDone = true
	for _, u := range s.users {
		if len(u.sessions) == 0 {
			s.quitLocked(u, u.quitMessageIfLost)
		}
	}
	for addr, v := range s.networks {
		if v.connections == 0 {
			delete(s.networks, addr)
		}
	}
	s.unlockAndCommit()
	s.Thaw()
}

// Adopt returns the session of a connection that was handed over, for serve.Service.
func (s *Service) Adopt(c serve.Conn, state []byte) serve.Session {
	defer s.countAdoption()
	x, missed, err := s.readSession(c, state)
	if err != nil {
		s.fixed.Log.Warn("a connection could not be adopted", "error", err)
		c.Send([]byte(reconnectLine))
		return nil
	}
	if len(missed) > 0 && !c.Send(missed) {
		s.closeSlow(x)
	}
	c.Post() // so that it continues and sets its timer
	return x
}

// countAdoption counts a connection that was handed over.
func (s *Service) countAdoption() {
	s.mu.Lock()
	s.awaitedAdoptions--
	last := s.awaitedAdoptions == 0
	s.mu.Unlock()
	if last {
		s.adoptTimer.Stop()
		s.finishAdoption()
	}
}

// adoptLock writes the process id into the lock file. It fails if the lock is not that of this
// directory.
func adoptLock(dir string, lock *os.File) error {
	ours, err := lock.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(filepath.Join(dir, "lock"))
	if err != nil || !os.SameFile(ours, there) {
		return fmt.Errorf("chat: %s is not the data directory that was handed over: to change it, stop and start the server", dir)
	}
	if err := lock.Truncate(0); err != nil {
		return err
	}
	_, err = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// Move implements serve.Movable. A session in the middle of a login cannot be handed over.
func (s *session) Move(w *serve.Writer) ([]byte, bool) {
	s.svc.mu.Lock()
	defer s.svc.mu.Unlock()
	if s.svc.frozenSessions == nil || s.ownership != ownedByServe || s.task != nil || s.endErr != nil || s.sasl != nil || s.mustReconnectLocked() || s.pendingMessages > 0 {
		s.conn.Send([]byte(reconnectLine))
		return nil, false
	}
	w.Write(s.replies) // replies of a finished job
	s.replies = nil
	return s.encodeStateLocked(), true
}

// foldedNick returns the key of the user in Service.users, "" for no user.
func (u *user) foldedNick() string {
	if u == nil {
		return ""
	}
	return irc.Fold(u.nick)
}
