package serve

import "errors"

// tenure is the time in which one goroutine runs a loop. It ends when a session or handler ends the
// goroutine by runtime.Goexit, or when a handler keeps the goroutine (giveAway). The next goroutine
// then owns the loop, and continues where the last one was.
type tenure struct{ isOver bool }

// runToEnd runs the loop until it has stopped.
func (l *loop) runToEnd() error {
	defer l.close()
	endedc := make(chan error, 1) // from the last goroutine, one result; never closed
	l.endedc = endedc
	go l.runTenure()
	return errors.Join(<-endedc, l.listenerErr)
}

// runTenure runs the loop by the calling goroutine.
func (l *loop) runTenure() {
	t, endedc := new(tenure), l.endedc
	l.tenure = t
	returned := false
	defer func() {
		if !returned && !t.isOver {
			go l.runTenure()
		}
	}()
	err := l.run()
	returned = true
	endedc <- err
}

// giveAway lets another goroutine run the loop. The calling one, which has run it, may then block.
// It ends by a Goexit, because its stack has frames of the loop.
func (l *loop) giveAway() {
	l.tenure.isOver = true
	go l.runTenure()
}
