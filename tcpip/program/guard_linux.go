//go:build amd64 || arm64

package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exit statuses of a command that was not started, as those of a shell.
const (
	statusNotExecutable = 126
	statusNotFound      = 127
)

// The order of the supervisor is the command: each argument with a zero byte behind it, since
// arguments need not be valid UTF-8.
func encodeOrder(command []string) ([]byte, error) {
	var b []byte
	for _, arg := range command {
		if strings.IndexByte(arg, 0) >= 0 {
			return nil, fmt.Errorf("program: the argument %q has a zero byte", arg)
		}
		b = append(append(b, arg...), 0)
	}
	if len(b) == 0 {
		return nil, errors.New("program: the command is empty")
	}
	return b, nil
}

func decodeOrder(b []byte) []string {
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// report is what the guard tells the supervisor, once: that the command was started, or why not.
type report struct {
	Closed []int  // inherited internet sockets that were closed
	Err    string // why the command was not started
	Status int    // of the command, then
}

// guard starts the command and ends what it leaves.
type guard struct {
	conn    *net.UnixConn // to the supervisor
	args    []string      // of the command
	command atomic.Int64  // the command's process; 0: not started
}

// leftTime is how long processes that the command leaves may take to end after SIGTERM.
const leftTime = time.Second

// Inside is the guard: it starts the command, and returns its status when that and all that it has
// started have ended. control is the descriptor whose number Start has appended to Config.Self. The
// caller ends the process with the status.
func Inside(control *os.File) (status int, err error) {
	conn, err := net.FileConn(control)
	if err != nil {
		return 0, fmt.Errorf("program: this command is for the guard of weir stack exec: %w", err)
	}
	control.Close()
	g := &guard{conn: conn.(*net.UnixConn)}
	text, _, err := receiveMessage(g.conn)
	if err != nil {
		return 0, err
	}
	g.args = decodeOrder(text)
	ignoreSignals()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, os.NewSyscallError("prctl", err)
	}
	// never unlocked: the filter holds for this thread, and its end kills the command
	runtime.LockOSThread()
	r := g.start()
	if err := g.send(r); err != nil || r.Err != "" {
		return r.Status, err
	}
	go g.obey() // until the process ends
	return g.wait(), nil
}

// send sends the report to the supervisor.
func (g *guard) send(r report) error {
	message, err := json.Marshal(r)
	if err == nil {
		_, err = g.conn.Write(message)
	}
	return err
}

// signals are those that the supervisor passes on.
var signals = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}

// ignoreSignals has signals of a terminal end the command, not the guard. A handler, unlike an
// ignored signal, is not inherited by the command; what the caller ignores stays ignored.
func ignoreSignals() {
	unread := make(chan os.Signal, 1)
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(unread, s)
		}
	}
}

// start starts the command under the filter.
func (g *guard) start() (r report) {
	path, err := exec.LookPath(g.args[0])
	if err == nil || errors.Is(err, exec.ErrDot) {
		r.Closed, err = closeSockets()
	}
	if err == nil {
		err = g.install()
	}
	if err == nil {
		pid, startErr := syscall.ForkExec(path, g.args, &syscall.ProcAttr{
			Env:   syscall.Environ(),
			Files: []uintptr{0, 1, 2},
			Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
		})
		g.command.Store(int64(pid))
		if err = startErr; err == nil {
			return r
		}
		err = &fs.PathError{Op: "exec", Path: path, Err: err}
	}
	r.Err, r.Status = err.Error(), statusNotExecutable
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		r.Status = statusNotFound
	}
	return r
}

// install installs the filter, and sends the descriptor of its notifications to the supervisor: by
// another thread, since this one would wait for the answer to its sendmsg.
func (g *guard) install() error {
	made := make(chan int, 1)   // this goroutine -> the sender: the descriptor; closed without one
	sent := make(chan error, 1) // the sender -> this goroutine: one
	go func() {                 // until it is sent
		listener, ok := <-made
		if !ok {
			return
		}
		_, _, err := g.conn.WriteMsgUnix([]byte{'n'}, unix.UnixRights(listener), nil)
		sent <- err
	}()
	listener, err := newFilter().install()
	if err != nil {
		close(made)
		return fmt.Errorf("program: installing the filter of system calls: %w", err)
	}
	made <- listener
	return errors.Join(<-sent, unix.Close(listener))
}

// closeSockets closes inherited internet sockets. Those that are standard input, output or error
// are an error.
func closeSockets() (closed []int, err error) {
	all, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return nil, err
	}
	for _, name := range all {
		fd, _ := strconv.Atoi(filepath.Base(name)) // they are numbers
		domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
		if err != nil || isLeftAlone(domain) {
			continue
		}
		if fd <= 2 {
			return nil, fmt.Errorf("program: descriptor %d is a socket of the kernel's network: redirect it, for example by a pipe to cat", fd)
		}
		unix.Close(fd)
		closed = append(closed, fd)
	}
	return closed, nil
}

// obey passes on signals of the supervisor, and kills all when it ends.
func (g *guard) obey() {
	message := make([]byte, 1)
	for {
		n, err := g.conn.Read(message)
		if err != nil || n == 0 {
			break
		}
		syscall.Kill(int(g.command.Load()), syscall.Signal(message[0])) //nolint:errcheck // it may have ended
	}
	for {
		signalChildren(syscall.SIGKILL) // their children become ours
		time.Sleep(time.Millisecond)
	}
}

// wait reaps all processes, and returns the status of the command. When that has ended, the others
// get SIGTERM, and SIGKILL after leftTime. Each that ends may leave its children to this process.
func (g *guard) wait() (status int) {
	var ending syscall.Signal // what the others get; 0: the command runs
	var late atomic.Bool      // leftTime is over
	for {
		var w syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &w, 0, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil: // ECHILD: none is left
			return status
		case int64(pid) == g.command.Load():
			if status = w.ExitStatus(); w.Signaled() {
				status = 128 + int(w.Signal())
			}
			ending = syscall.SIGTERM
			time.AfterFunc(leftTime, func() {
				late.Store(true)
				signalChildren(syscall.SIGKILL)
			})
		}
		if late.Load() {
			ending = syscall.SIGKILL
		}
		if ending != 0 {
			signalChildren(ending)
		}
	}
}

// signalChildren sends a signal to the children of this process.
func signalChildren(s syscall.Signal) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list) // unreadable if the thread has ended
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				syscall.Kill(pid, s) //nolint:errcheck // it may have ended
			}
		}
	}
}
