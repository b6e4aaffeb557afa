//go:build amd64 || arm64

package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxMessage is the size of the largest message between the supervisor and the guard, in bytes: a
// command may have long arguments.
const maxMessage = 4 << 20

// Program is a program that runs on a stack.
type Program struct {
	guard   *os.Process
	conn    *net.UnixConn // to the guard; its end is the end of the program
	s       *supervisor
	stopped chan struct{} // closed when the supervisor has ended
}

// Start starts a program. The caller calls Wait.
func Start(c Config) (*Program, error) {
	conn, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	guard, err := c.startGuard(theirs)
	theirs.Close()
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	p := &Program{guard: guard, conn: conn, stopped: make(chan struct{})}
	if err := p.begin(c); err != nil {
		return nil, errors.Join(err, p.abandon())
	}
	return p, nil
}

// controlPair returns a pair of sockets that keep message boundaries, the second for the guard.
func controlPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	for _, fd := range fds {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, maxMessage) //nolint:errcheck // a smaller one does for most commands
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "guard"), os.NewFile(uintptr(fds[1]), "guard")
	defer ours.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return c.(*net.UnixConn), theirs, nil
}

// noFile is a descriptor that a child does not get.
const noFile = ^uintptr(0)

// startGuard starts the guard with all descriptors that this process has inherited, so that the
// command inherits them, and with its end of the pair at a number that is free among them.
func (c *Config) startGuard(control *os.File) (*os.Process, error) {
	files := inheritedFiles()
	for i, f := range c.Files {
		if f != nil {
			files[i] = f.Fd()
		}
	}
	number := slices.Index(files, noFile)
	if number < 0 {
		number = len(files)
		files = append(files, noFile)
	}
	files[number] = control.Fd()
	argv := append(append([]string(nil), c.Self...), strconv.Itoa(number))
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: syscall.Environ(), Files: files})
	if err != nil {
		return nil, fmt.Errorf("program: starting the guard %s: %w", argv[0], err)
	}
	return os.FindProcess(pid)
}

// inheritedFiles returns the descriptors that are inherited by an exec, at their numbers. Those
// above the limit (ulimit -n) are left out: they are inherited without help, and dup2 fails there.
func inheritedFiles() []uintptr {
	files := []uintptr{0, 1, 2}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		limit.Cur = unix.RLIM_INFINITY
	}
	all, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range all {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd < 3 || uint64(fd) >= limit.Cur {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		for len(files) <= fd {
			files = append(files, noFile)
		}
		files[fd] = uintptr(fd)
	}
	return files
}

// begin gives the guard its order, and starts the supervisor.
func (p *Program) begin(c Config) error {
	text, err := encodeOrder(c.Command)
	if err != nil {
		return err
	}
	if err := checkTracing(p.guard.Pid); err != nil {
		return err
	}
	if _, err := p.conn.Write(text); err != nil {
		return fmt.Errorf("program: the command is too long: %w", err)
	}
	fd, r, err := p.receive()
	if err != nil {
		return err
	}
	if p.s, err = newSupervisor(c, fd); err != nil {
		return err
	}
	go func() { // until no process has the filter, or Wait
		defer close(p.stopped)
		p.s.run()
	}()
	if r == nil {
		if r, err = p.report(); err != nil {
			return err
		}
	}
	return p.s.judge(r)
}

// checkTracing returns an error unless this process may trace a child: only then it can read the
// memory of programs, and fetch their descriptors.
func checkTracing(child int) error {
	fd, err := fetch(uint32(child), 0)
	if err == nil {
		return unix.Close(fd)
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("program: this process may not trace the programs that it starts, as the sysctl kernel.yama.ptrace_scope (2 or 3), a container or an old kernel forbids it: %w", err)
	}
	return nil // it has no descriptor 0
}

// judge says which descriptors were closed, and returns why the command was not started.
func (s *supervisor) judge(r *report) error {
	for _, fd := range r.Closed {
		s.explain(fmt.Sprintf("descriptor %d was closed: it is a socket of the kernel's network", fd))
	}
	if r.Err != "" {
		return &StartError{r.Status, r.Err}
	}
	return nil
}

// receiveMessage receives a message of the other process, as long as it is, and what comes along.
func receiveMessage(c *net.UnixConn) (message, control []byte, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	var length int
	var peekErr error
	err = raw.Read(func(fd uintptr) bool {
		length, _, peekErr = unix.Recvfrom(int(fd), nil, unix.MSG_PEEK|unix.MSG_TRUNC|unix.MSG_DONTWAIT)
		return peekErr != unix.EAGAIN && peekErr != unix.EINTR
	})
	if err = errors.Join(err, peekErr); err != nil || length == 0 {
		return nil, nil, errors.Join(errGuardEnded, err)
	}
	message, control = make([]byte, length), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := c.ReadMsgUnix(message, control)
	return message[:n], control[:oobn], err
}

// errGuardEnded is the error of a guard that ends before it has started the command.
var errGuardEnded = errors.New("program: the guard or the supervisor has ended at the start")

// receive receives the descriptor of notifications, or the report of why there is none.
func (p *Program) receive() (fd int, r *report, err error) {
	message, control, err := receiveMessage(p.conn)
	if err != nil {
		return -1, nil, err
	}
	if len(control) == 0 {
		r, err := parseReport(message)
		if err == nil {
			err = &StartError{r.Status, r.Err}
		}
		return -1, r, err
	}
	all, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return -1, nil, err
	}
	fds, err := unix.ParseUnixRights(&all[0])
	if err != nil {
		return -1, nil, err
	}
	unix.CloseOnExec(fds[0])
	return fds[0], nil, nil
}

// report receives the report of the guard.
func (p *Program) report() (*report, error) {
	message, _, err := receiveMessage(p.conn)
	if err != nil {
		return nil, err
	}
	return parseReport(message)
}

func parseReport(text []byte) (*report, error) {
	r := &report{}
	return r, json.Unmarshal(text, r)
}

// abandon ends a program that was not started.
func (p *Program) abandon() error {
	p.conn.Close()
	p.guard.Wait() //nolint:errcheck // its report says why it has ended
	if p.s != nil {
		p.endSupervisor()
	}
	return nil
}

// endSupervisor ends the supervisor. Calls of processes that are left then fail with ENOSYS.
func (p *Program) endSupervisor() {
	p.s.listener.end()
	<-p.stopped
	p.s.listener.close()
}

// Signal sends a signal to the command.
func (p *Program) Signal(s syscall.Signal) error {
	_, err := p.conn.Write([]byte{byte(s)})
	return err
}

// Kill kills the command and all that it has started.
func (p *Program) Kill() error { return p.conn.Close() }

// Wait waits until the command has ended, and all that it has started with it. It returns the
// status of the command: 128 and the number of a signal that has ended it. Connections that still
// have to send remain in the stack.
func (p *Program) Wait() (status int, err error) {
	state, err := p.guard.Wait()
	p.endSupervisor()
	p.conn.Close() // Kill may have closed it
	if err != nil {
		return 0, err
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), errors.New("program: the guard was killed, and the command with it")
	}
	return state.ExitCode(), nil
}
