package serve

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// sayGoodbye opens a session that says goodbye to the first input, and ends.
func sayGoodbye(Conn) Session { return told("goodbye") }

// hears asks, and expects a farewell and the end. It does not close.
func hears(t *testing.T, r *running) {
	t.Helper()
	c := r.dial()
	c.Write([]byte("?"))
	if got, err := io.ReadAll(c); string(got) != "goodbye" || err != nil {
		t.Fatalf("got %q, %v, want the farewell and the end", got, err)
	}
}

// Peers that do not close keep no more connections than lingerMost for each loop: the oldest is cut
// short.
func TestLingeringClosesAreLimited(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		r := begin(t, w, sessions, service{open: sayGoodbye}, Options{Loops: 1, Width: 4, LingerClose: tooLong})
		for range lingerMost + 50 {
			hears(t, r)
		}
		eventually(t, "no more connections than may linger", func() bool { return r.meter.Snapshot().Open <= lingerMost })
		if n := r.meter.Snapshot().Open; n < lingerMost {
			t.Errorf("%d connections linger, want %d", n, lingerMost)
		}
		r.stopsCleanly()
	})
}

// A lingering close keeps no worker of a pool.
func TestALingeringCloseKeepsNoWorker(t *testing.T) {
	for _, f := range []form{sessions, handlers} {
		r := begin(t, Pool, f, services["answer"], Options{Width: 1, LingerClose: tooLong})
		for range 3 {
			c := r.dial()
			c.Write([]byte("?"))
			if got, err := io.ReadAll(c); len(got) != len(full) || err != nil {
				t.Errorf("%s: got %d bytes and %v while others linger, want %d and the end", f, len(got), err, len(full))
			}
		}
	}
}

// Without output there is nothing to lose: a connection that is refused is closed at once.
func TestARefusedConnectionDoesNotLinger(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		refusing := service{open: func(Conn) Session { return nil }}
		r := begin(t, w, sessions, refusing, Options{Width: 1, LingerClose: tooLong})
		for range 3 {
			r.dial()
		}
		eventually(t, "all connections closed", func() bool {
			s := r.meter.Snapshot()
			return s.Accepted == 3 && s.Open == 0
		})
		r.stopsCleanly()
	})
}

// Where descriptors run out, lingering closes end first.
func TestLingeringClosesGiveWayWhenDescriptorsRunOut(t *testing.T) {
	for _, w := range inProcess {
		t.Run(w.String(), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], starvedFlag+w.String())
			cmd.Env = append(os.Environ(), starvedFarewell+"=1")
			cmd.Stderr = os.Stderr
			cmd.StdinPipe()
			out, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
			addr, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal("no address:", err)
			}
			r := &running{t: t, addr: strings.TrimSpace(addr)}
			for range 3 * spare {
				hears(t, r)
			}
		})
	}
}
