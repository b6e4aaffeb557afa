package serve

import (
	"io"
	"testing"
	"time"
)

// farewell is a session that says goodbye when it is woken.
type farewell struct{}

func (farewell) Input([]byte, *Writer) error { return nil }
func (farewell) Close(error)                 {}

func (farewell) Wake(_ time.Time, out *Writer) error {
	out.WriteString("bye")
	return io.EOF
}

// A posted session is woken, also when a stop follows at once: it may have output.
func TestAPostBeforeAStopWakes(t *testing.T) {
	heard := func(t *testing.T, w Way, bare bool) {
		for range 20 {
			opened := make(chan Conn, 1) // session's owner -> test
			l := listen(t)
			s := service{open: func(c Conn) Session { opened <- c; return farewell{} }}
			var r *running
			if bare {
				r = startServiceOver(t, bareListener{l}, w, sessions, s, Options{})
			} else {
				r = startServiceOver(t, l, w, sessions, s, Options{})
			}
			c := r.dial()
			(<-opened).Post()
			go r.stop()
			if got, err := io.ReadAll(c); string(got) != "bye" || err != nil {
				t.Fatalf("the peer received %q, %v, want bye", got, err)
			}
			r.stopsCleanly()
		}
	}
	eachInProcess(t, func(t *testing.T, w Way) {
		t.Run("with a descriptor", func(t *testing.T) { heard(t, w, false) })
		if !Ways[w].NeedsDescriptor {
			t.Run("without a descriptor", func(t *testing.T) { heard(t, w, true) })
		}
	})
}
