package contract

import (
	"fmt"
	"sync"
)

// failure is the panic that ends a check, so that checks read as conversations. Try recovers it,
// and no other panic.
type failure struct{ error }

// Must ends the check with err, unless it is nil. Like the functions below, it may be called only
// within a check, a Kind's Prepare, or Try.
func Must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Failf ends the check with an error that says what was expected and what was seen.
func Failf(format string, args ...any) { Must(fmt.Errorf(format, args...)) }

// Expect ends the check with an error of this format, unless ok.
func Expect(ok bool, format string, args ...any) {
	if !ok {
		Failf(format, args...)
	}
}

// During runs f. If f ends the check, its error starts with "what: ".
func During(what string, f func()) {
	if err := Try(f); err != nil {
		Failf("%s: %w", what, err)
	}
}

// Try runs f. It returns the error by which f ended the check; nil if f returned.
func Try(f func()) (err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case failure:
			err = reason.error
		default:
			panic(reason)
		}
	}()
	f()
	return nil
}

// InParallel runs f for 0 to n-1 concurrently and waits for all. The first error by number ends the
// check.
func InParallel(n int, f func(i int)) {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = Try(func() { f(i) }) })
	}
	all.Wait()
	for _, err := range errs {
		Must(err)
	}
}
