package serve

import (
	"io"
	"testing"
	"time"
)

// farewell says a word when it is woken.
type farewell struct{}

func (farewell) Input([]byte, *Writer) error { return nil }
func (farewell) Close(error)                 {}

func (farewell) Wake(_ time.Time, out *Writer) error {
	out.WriteString("bye")
	return io.EOF
}

// Who is posted is woken, also when a stop follows at once: it may have something to say.
func TestAPostBeforeAStopIsHeard(t *testing.T) {
	heard := func(t *testing.T, w Way, bare bool) {
		for range 20 {
			opened := make(chan Conn, 1) // session's owner -> test
			l := listen(t)
			s := service{open: func(c Conn) Session { opened <- c; return farewell{} }}
			var r *running
			if bare {
				r = beginOver(t, bareListener{l}, w, sessions, s, Options{})
			} else {
				r = beginOver(t, l, w, sessions, s, Options{})
			}
			c := r.dial()
			(<-opened).Post()
			go r.stop()
			if got, err := io.ReadAll(c); string(got) != "bye" || err != nil {
				t.Fatalf("the peer is told %q, %v", got, err)
			}
			r.stopsCleanly()
		}
	}
	eachInProcess(t, func(t *testing.T, w Way) {
		t.Run("with a descriptor", func(t *testing.T) { heard(t, w, false) })
		if !Ways[w].Needs {
			t.Run("without a descriptor", func(t *testing.T) { heard(t, w, true) })
		}
	})
}
