package serve

import (
	"runtime"
	"time"
)

// quitter is a session that calls Goexit in one of its methods.
type quitter struct {
	method string // the method
	closed chan error
}

func newQuitter(c Conn, in string, closed chan error) *quitter {
	q := &quitter{in, closed}
	q.quit("open")
	c.Post()
	return q
}

func (q *quitter) quit(call string) {
	if q.method == call {
		runtime.Goexit()
	}
}

func (q *quitter) Input([]byte, *Writer) error   { q.quit("input"); return nil }
func (q *quitter) Wake(time.Time, *Writer) error { q.quit("wake"); return nil }

func (q *quitter) Close(err error) {
	q.quit("close")
	q.closed <- err
}
