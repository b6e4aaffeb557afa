package serve

import (
	"errors"
	"net"
	"runtime/debug"
)

// ErrGoexit is the Value of a PanicError for a call of runtime.Goexit, which counts as a panic.
var ErrGoexit = errors.New("serve: the session or handler called runtime.Goexit")

// contain calls f and returns a panic in it as an error. A Goexit is counted and reported in the
// same way, and continues.
func contain(o Options, n *counterShard, remote net.Addr, f func() error) (err error) {
	returned := false
	defer func() {
		v := recover()
		if v == nil && !returned {
			v = ErrGoexit
		}
		if v != nil {
			err = panicked(o, n, remote, v)
		}
	}()
	err = f()
	returned = true
	return err
}

// containPanic calls f and ends a panic in it. It is for an f that counts Goexits itself.
func containPanic(o Options, n *counterShard, remote net.Addr, f func()) {
	defer func() {
		if v := recover(); v != nil {
			panicked(o, n, remote, v)
		}
	}()
	f()
}

// panicked counts and reports the panic v. It must be called while the panicking stack still
// exists.
func panicked(o Options, n *counterShard, remote net.Addr, v any) error {
	e := &PanicError{Remote: remote, Value: v, Stack: debug.Stack()}
	n.panics.add(1)
	if o.OnPanic != nil {
		o.OnPanic(*e)
	}
	return e
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
