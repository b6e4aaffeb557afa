package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weir/chat/core"
	"weir/serve"
)

// Freeze holds back all commands, and returns when no work is unfinished. If ctx ends first, it
// undoes the freeze and returns an error.
func (s *Service) Freeze(ctx context.Context) error {
	s.withLock(s.core.Freeze)
	for s.isBusy() {
		select {
		case <-ctx.Done():
			s.Thaw()
			return errors.Join(core.ErrFreezeTimeout, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// Thaw ends a freeze: commands run again, and sessions that ended meanwhile are detached.
func (s *Service) Thaw() { s.withLock(s.core.Thaw) }

// DisconnectUnmovable asks the clients whose connections cannot be handed over, or all clients, to
// reconnect, and closes their connections. The service must be frozen. Silent clients that have not
// registered are not notified: they end with their run. It returns the number of sessions.
func (s *Service) DisconnectUnmovable(all bool) (sessions int) {
	s.withLock(func() { sessions = s.core.DisconnectUnmovable(all) })
	return sessions
}

// HandoverState returns the state that Resume continues from. The service must be frozen.
func (s *Service) HandoverState() (state []byte) {
	s.withLock(func() { state = s.core.EncodeState() })
	return state
}

// DuplicateLock returns a duplicate of the data directory's lock. No other server can take the
// directory until both, and all their duplicates, are closed.
func (s *Service) DuplicateLock() (*os.File, error) {
	f, ok := s.dataLock.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("chat: the lock of %s: %w", s.dataDir, errors.ErrUnsupported)
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	dup := -1
	var failed error
	err = raw.Control(func(fd uintptr) { dup, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("chat: the lock of %s: %w", s.dataDir, err)
	}
	return os.NewFile(uintptr(dup), filepath.Join(s.dataDir, lockName)), nil
}

// Handover is what Resume continues from.
type Handover struct {
	Lock        *os.File // from DuplicateLock; Resume takes ownership
	State       []byte   // from HandoverState; nil: there are no connections
	Connections int      // number of connections that will be adopted
}

// Resume opens a service that continues from another one.
func Resume(dir string, o Options, from Handover) (*Service, error) {
	if from.State == nil {
		return openWithLock(dir, o, from.Lock)
	}
	state, err := core.ReadState(from.State)
	if err != nil {
		from.Lock.Close()
		return nil, err
	}
	s, err := openWithLock(dir, o, from.Lock)
	if err != nil {
		return nil, err
	}
	if err := s.runTask(func(t *core.Task) error { return s.core.Restore(t, state) }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.withLock(func() { s.core.AwaitAdoptions(from.Connections) })
	return s, nil
}

// Adopt returns the session of a connection that was handed over, for serve.Service.
func (s *Service) Adopt(c serve.Conn, state []byte) serve.Session {
	var x *core.Session
	err := s.runTask(func(t *core.Task) error {
		x = s.core.Adopt(t, clientConn{c}, state)
		return nil
	})
	if x == nil || err != nil {
		return nil
	}
	return &connection{s, x}
}
