package serve

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// sayGoodbye opens a session that answers the first input with goodbye, and ends.
func sayGoodbye(Conn) Session { return saysOnce("goodbye") }

// wantGoodbye sends a request, and expects the answer and the end. It does not close.
func wantGoodbye(t *testing.T, r *running) {
	t.Helper()
	c := r.dial()
	c.Write([]byte("?"))
	if got, err := io.ReadAll(c); string(got) != "goodbye" || err != nil {
		t.Fatalf("got %q, %v, want the farewell and the end", got, err)
	}
}

// Peers that do not close keep at most maxLingering connections for each loop: the oldest is cut
// short.
func TestLingeringClosesAreLimited(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		r := startService(t, w, sessions, service{open: sayGoodbye}, Options{Loops: 1, Workers: 4, LingerTimeout: tooLong})
		for range maxLingering + 50 {
			wantGoodbye(t, r)
		}
		eventually(t, "no more connections than may linger", func() bool { return r.meter.Snapshot().Open <= maxLingering })
		if n := r.meter.Snapshot().Open; n < maxLingering {
			t.Errorf("%d connections linger, want %d", n, maxLingering)
		}
		r.stopsCleanly()
	})
}

// A lingering close occupies no worker of a pool.
func TestALingeringCloseKeepsNoWorker(t *testing.T) {
	for _, f := range []form{sessions, handlers} {
		r := startService(t, Pool, f, services["answer"], Options{Workers: 1, LingerTimeout: tooLong, FlushTimeout: shortTimeout})
		for range 3 {
			c := r.dial()
			c.Write([]byte("?"))
			if got, err := io.ReadAll(c); len(got) != len(full) || err != nil {
				t.Errorf("%s: got %d bytes and %v while others linger, want %d and the end", f, len(got), err, len(full))
			}
		}
	}
}

// Without output there is nothing to lose: a refused connection is closed at once.
func TestARefusedConnectionDoesNotLinger(t *testing.T) {
	eachInProcess(t, func(t *testing.T, w Way) {
		refusing := service{open: func(Conn) Session { return nil }}
		r := startService(t, w, sessions, refusing, Options{Workers: 1, LingerTimeout: tooLong, FlushTimeout: shortTimeout})
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

// When descriptors run out, lingering closes end first.
func TestLingeringClosesEndWhenDescriptorsRunOut(t *testing.T) {
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
				t.Fatalf("the server process printed no address: got error %v, want a line", err)
			}
			r := &running{t: t, addr: strings.TrimSpace(addr)}
			for range 3 * spareDescriptors {
				wantGoodbye(t, r)
			}
		})
	}
}
