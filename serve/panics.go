package serve

import (
	"net"
	"runtime/debug"
)

// contain calls f and returns a panic in it as an error.
func contain(o Options, n *lane, remote net.Addr, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(o, n, remote, v)
		}
	}()
	return f()
}

// panicked counts and reports the panic v. It is called while the stack of the panic stands.
func panicked(o Options, n *lane, remote net.Addr, v any) error {
	e := &PanicError{Remote: remote, Value: v, Stack: debug.Stack()}
	n.panics.add(1)
	if o.Panicked != nil {
		o.Panicked(*e)
	}
	return e
}
