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

// Timeouts for the other process.
const (
	readyTimeout    = 30 * time.Second // from its start until it is ready
	transferTimeout = 60 * time.Second // for each step of the handover
)

// Successor is the process that replaces this one. Only one goroutine may use it. It is released by
// Commit or Kill.
type Successor struct {
	Version int // version of the state that it understands

	socket socket
	cmd    *exec.Cmd
	pid    int
}

// Start starts cmd with the socket as descriptor 3, and returns when it is ready. If ctx ends or it
// is not ready in time, it is killed.
func Start(ctx context.Context, cmd *exec.Cmd) (*Successor, error) {
	if os.Getpid() == 1 {
		return nil, errors.New("upgrade: this is process 1 of a container and cannot be replaced: restart the container instead")
	}
	ours, theirs, err := newSocketPair()
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
	s := &Successor{socket: ours, cmd: cmd, pid: cmd.Process.Pid}
	m, err := s.awaitReply(ctx, readyTimeout)
	if err == nil && !m.Ready {
		err = errors.New("upgrade: the new server did not report that it is ready")
	}
	if err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	s.Version = m.Version
	return s, nil
}

// PID returns its process id.
func (s *Successor) PID() int { return s.pid }

// awaitReply waits for the next message of the new process. A message with an error, and the exit
// of the process, are returned as errors.
func (s *Successor) awaitReply(ctx context.Context, timeout time.Duration) (message, error) {
	s.socket.SetReadDeadline(time.Now().Add(timeout))
	defer context.AfterFunc(ctx, func() { s.socket.SetReadDeadline(time.Now()) })()
	m, fds, err := s.socket.receive()
	closeAll(fds)
	switch {
	case ctx.Err() != nil:
		return m, context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return m, fmt.Errorf("upgrade: the new server sent nothing for %v", timeout)
	case errors.Is(err, io.EOF):
		return m, fmt.Errorf("upgrade: the new server exited: %s", s.exitStatus())
	case err != nil:
		return m, fmt.Errorf("upgrade: the new server: %w", err)
	case m.Error != "":
		return m, errors.New("upgrade: the new server reports: " + m.Error)
	}
	return m, nil
}

// exitStatus returns how the process exited. It is called after the process has closed its socket,
// and kills it if it does not exit within a second.
func (s *Successor) exitStatus() string {
	gone := time.AfterFunc(time.Second, func() { _ = s.cmd.Process.Kill() })
	defer gone.Stop()
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.String()
}

// Transfer sends the handover to the new process and returns when that has opened it. This process
// keeps its own descriptors. After an error, call Kill before using any of them.
func (s *Successor) Transfer(ctx context.Context, h Handover) error {
	s.socket.SetWriteDeadline(time.Now().Add(transferTimeout))
	head := message{Lock: h.Lock != nil, State: h.State, Count: len(h.Connections)}
	var files []*os.File
	if h.Lock != nil {
		files = append(files, h.Lock)
	}
	for _, l := range h.Listeners {
		head.Listeners = append(head.Listeners, l.Name)
		files = append(files, l.File)
	}
	err := withDescriptors(files, nil, func(fds []int) error { return s.sendAndAwait(ctx, head, fds) })
	for rest := h.Connections; len(rest) > 0 && err == nil; {
		n := batch(rest)
		err = s.sendAndAwait(ctx, batchMessage(rest[:n]), fdsOf(rest[:n]))
		rest = rest[n:]
	}
	if err != nil {
		return err
	}
	m, err := s.awaitReply(ctx, transferTimeout)
	if err == nil && !m.OK {
		err = errors.New("upgrade: the new server did not confirm the handover")
	}
	return err
}

// sendAndAwait sends a message and waits for its acknowledgment.
func (s *Successor) sendAndAwait(ctx context.Context, m message, fds []int) error {
	if err := s.socket.send(m, fds...); err != nil {
		return fmt.Errorf("upgrade: sending to the new server: %w", err)
	}
	_, err := s.awaitReply(ctx, transferTimeout)
	return err
}

// batch returns how many of the connections fit in one message.
func batch(all []serve.MovedConn) (n int) {
	for size := 0; n < len(all) && n < maxFDs && size < batchBytes; n++ {
		size += len(all[n].Unsent) + len(all[n].State)
	}
	return n
}

func batchMessage(all []serve.MovedConn) (m message) {
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

// withDescriptors calls f with the descriptors of files. It keeps them open during the call and
// leaves their blocking mode unchanged, which File.Fd does not.
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

// Commit ends the handover: from now on the new process serves, and this one must not use anything
// that it has passed. After an error the new process does not serve: call Kill.
func (s *Successor) Commit() error {
	if err := s.socket.send(message{Go: true}); err != nil {
		return fmt.Errorf("upgrade: the new server: %w", err)
	}
	s.socket.Close()
	return s.cmd.Process.Release()
}

// Kill kills the new process and waits for its exit.
func (s *Successor) Kill() error {
	defer s.socket.Close() // deferred to the end: a closed socket means go
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = s.cmd.Wait() // an exit by a signal is expected
	return nil
}
