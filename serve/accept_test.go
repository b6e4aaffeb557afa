package serve

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

// accept(2) documents which errors belong to one connection.
func TestAcceptErrorsAreClassified(t *testing.T) {
	wrapped := func(e syscall.Errno) error { return &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", e)} }
	for _, c := range []struct {
		err  error
		want acceptAction
	}{
		{wrapped(syscall.ECONNABORTED), acceptAgain}, {wrapped(syscall.EPROTO), acceptAgain}, {wrapped(syscall.EPERM), acceptAgain},
		{wrapped(syscall.ENETDOWN), acceptAgain}, {wrapped(syscall.ENOPROTOOPT), acceptAgain}, {wrapped(syscall.EHOSTDOWN), acceptAgain},
		{wrapped(syscall.EHOSTUNREACH), acceptAgain}, {wrapped(syscall.EOPNOTSUPP), acceptAgain}, {wrapped(syscall.ENETUNREACH), acceptAgain},
		{syscall.EINTR, acceptAgain},
		{wrapped(syscall.EMFILE), acceptLater}, {wrapped(syscall.ENFILE), acceptLater}, {syscall.ENOBUFS, acceptLater}, {syscall.ENOMEM, acceptLater},
		{wrapped(syscall.EBADF), acceptFailed}, {syscall.EINVAL, acceptFailed}, {net.ErrClosed, acceptFailed}, {errors.New("other"), acceptFailed},
	} {
		if got := classifyAcceptError(c.err); got != c.want {
			t.Errorf("%v: verdict %d, want %d", c.err, got, c.want)
		}
	}
}

// failingListener is a listener some of whose connections fail before they are accepted.
type failingListener struct {
	net.Listener
	errs chan error // test -> Accept; these errors come first
}

func (f failingListener) Accept() (net.Conn, error) {
	select {
	case err := <-f.errs:
		return nil, err
	default:
		return f.Listener.Accept()
	}
}

// Errors of one connection do not pause accepting.
func TestAnErrorOfOneConnectionIsNoPause(t *testing.T) {
	for _, w := range []Way{Goroutine, Pool} {
		errs := make(chan error, 10)
		for range cap(errs) {
			errs <- os.NewSyscallError("accept4", syscall.EPROTO)
		}
		r := startServiceOver(t, failingListener{listen(t), errs}, w, sessions, services["echo"], Options{Workers: 1})
		exchange(t, r.dial(), "served")
		if n := r.meter.Snapshot().AcceptPauses; n != 0 {
			t.Errorf("%s: %d pauses, want none", w, n)
		}
		r.stopsCleanly()
	}
}

// An error of the listener itself ends Run in every model, and Run returns it.
func TestAListenerThatFailsEndsRun(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		l := listen(t).(*net.TCPListener)
		file, err := l.File()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r := startServiceOver(t, l, w, sessions, services["echo"], Options{Loops: 2, Workers: 2})
		c := r.dial()
		exchange(t, c, "served")
		raw, _ := file.SyscallConn()
		// accept(2): EINVAL
		raw.Control(func(fd uintptr) { syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
		if err := r.endsWithin(hangLimit); err == nil || errors.Is(err, ErrDeadline) {
			t.Errorf("Run returned %v, want why nothing can be accepted", err)
		}
	})
}

// A Goexit in any call of a session reaches Close as a panic, and the other connections continue.
func TestAGoexitIsAPanicInEveryCall(t *testing.T) {
	for _, call := range []string{"open", "input", "wake", "close"} {
		eachInProcess(t, func(t *testing.T, w Way) {
			t.Run(call, func(t *testing.T) {
				closed := make(chan error, 8) // sessions -> test
				s := service{open: func(c Conn) Session { return newQuitter(c, call, closed) }}
				r := startService(t, w, sessions, s, Options{Loops: 1, Workers: 2})
				const times = 4
				for range times {
					c := r.dialSoon()
					c.Write([]byte("go"))
					if call == "close" {
						c.CloseWrite()
					}
					if n, err := c.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
						t.Fatalf("after a Goexit in %s: read %d bytes, %v, want the connection's end", call, n, err)
					}
					if call == "input" || call == "wake" {
						if err := receive(t, closed, "Close with ErrGoexit"); !errors.Is(err, ErrGoexit) {
							t.Errorf("Close received %v, want ErrGoexit", err)
						}
					}
				}
				eventually(t, "the panics counted", func() bool { return r.meter.Snapshot().Panics == times })
				eventually(t, "the connections closed", func() bool { return r.meter.Snapshot().Open == 0 })
				r.stopsCleanly()
			})
		})
	}
}
