package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"weir/serve"
)

// How long the other process may take.
const (
	readyWithin = 30 * time.Second // from its start until it is ready
	takenWithin = 60 * time.Second // from the first descriptor until it has taken everything
)

// Successor is the process that is to follow this one. One goroutine uses it. It ends with Go or
// with Kill.
type Successor struct {
	Version int // of the state that it knows

	wire wire
	cmd  *exec.Cmd
	pid  int
}

// Start starts cmd, whose descriptor 3 will be the socket, and returns once it is ready. When ctx
// ends, or it takes too long, it is killed.
func Start(ctx context.Context, cmd *exec.Cmd) (*Successor, error) {
	if os.Getpid() == 1 {
		return nil, errors.New("upgrade: this is process 1, with which all others end: restart the container instead")
	}
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("upgrade: the new server cannot be started: %w", err)
	}
	s := &Successor{wire: ours, cmd: cmd, pid: cmd.Process.Pid}
	m, err := s.answer(ctx, readyWithin)
	if err == nil && !m.Ready {
		err = errors.New("upgrade: the new server does not know how to take over")
	}
	if err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	s.Version = m.Version
	return s, nil
}

// PID is its process id.
func (s *Successor) PID() int { return s.pid }

// answer waits for the new process to say something. What it says instead of it, and its end, are
// errors.
func (s *Successor) answer(ctx context.Context, within time.Duration) (message, error) {
	s.wire.SetReadDeadline(time.Now().Add(within))
	defer context.AfterFunc(ctx, func() { s.wire.SetReadDeadline(time.Now()) })()
	m, fds, err := s.wire.receive()
	closeAll(fds)
	switch {
	case ctx.Err() != nil:
		return m, context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return m, fmt.Errorf("upgrade: the new server says nothing for %v", within)
	case errors.Is(err, io.EOF):
		return m, fmt.Errorf("upgrade: the new server ended, with %s", s.end())
	case err != nil:
		return m, fmt.Errorf("upgrade: the new server: %w", err)
	case m.Error != "":
		return m, errors.New("upgrade: the new server says: " + m.Error)
	}
	return m, nil
}

// end is how the process ended, which has closed its end of the socket.
func (s *Successor) end() string {
	gone := time.AfterFunc(time.Second, func() { _ = s.cmd.Process.Kill() })
	defer gone.Stop()
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.String()
}

// Give gives everything to the new process, and returns once that has taken it. The descriptors
// stay this process's too. After an error Kill it before any of them is used.
func (s *Successor) Give(ctx context.Context, h Handed) error {
	s.wire.SetWriteDeadline(time.Now().Add(takenWithin))
	head := message{Lock: h.Lock != nil, State: h.State, Count: len(h.Connections)}
	var files []*os.File
	if h.Lock != nil {
		files = append(files, h.Lock)
	}
	for _, l := range h.Listeners {
		head.Listeners = append(head.Listeners, l.Name)
		files = append(files, l.File)
	}
	err := withDescriptors(files, nil, func(fds []int) error { return s.exchange(ctx, head, fds) })
	for rest := h.Connections; len(rest) > 0 && err == nil; {
		n := batch(rest)
		err = s.exchange(ctx, some(rest[:n]), fdsOf(rest[:n]))
		rest = rest[n:]
	}
	if err != nil {
		return err
	}
	m, err := s.answer(ctx, takenWithin)
	if err == nil && !m.OK {
		err = errors.New("upgrade: the new server does not say that it has taken over")
	}
	return err
}

// exchange sends a message and waits until it has arrived.
func (s *Successor) exchange(ctx context.Context, m message, fds []int) error {
	if err := s.wire.send(m, fds...); err != nil {
		return fmt.Errorf("upgrade: the new server takes nothing: %w", err)
	}
	_, err := s.answer(ctx, takenWithin)
	return err
}

// batch is how many of the connections go in one message.
func batch(all []serve.MovedConn) (n int) {
	for size := 0; n < len(all) && n < maxFDs && size < batchBytes; n++ {
		size += len(all[n].Unsent) + len(all[n].State)
	}
	return n
}

func some(all []serve.MovedConn) (m message) {
	for _, c := range all {
		m.Some = append(m.Some, connection{c.Unsent, c.State})
	}
	return m
}

func fdsOf(all []serve.MovedConn) (fds []int) {
	for _, c := range all {
		fds = append(fds, c.FD)
	}
	return fds
}

// withDescriptors calls f with the descriptors of files, which it keeps open meanwhile and does not
// change, as File.Fd would.
func withDescriptors(files []*os.File, fds []int, f func([]int) error) error {
	if len(files) == 0 {
		return f(fds)
	}
	raw, err := files[0].SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) { inner = withDescriptors(files[1:], append(fds, int(fd)), f) })
	return errors.Join(err, inner)
}

// Go is the last word: the new process serves from now on, and this one must touch nothing that it
// has given. The process goes on by itself. After an error it does not, and is to be killed.
func (s *Successor) Go() error {
	if err := s.wire.send(message{Go: true}); err != nil {
		return fmt.Errorf("upgrade: the new server: %w", err)
	}
	s.wire.Close()
	return s.cmd.Process.Release()
}

// Kill ends the new process, and returns when it has ended.
func (s *Successor) Kill() error {
	defer s.wire.Close() // and not before: it would go on at the end of the socket
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = s.cmd.Wait() // that it was killed, or was waited for before, is no error
	return nil
}
