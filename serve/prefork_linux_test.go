package serve

import (
	"errors"
	"io"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A child that exits early does not end the service.
func TestAChildThatExitsEarlyIsRestarted(t *testing.T) {
	r := startService(t, Prefork, sessions, services["pid"], Options{Workers: 2})
	killed := map[int]bool{}
	for len(killed) < 4 {
		c := r.dial()
		c.Write([]byte("?"))
		text, err := io.ReadAll(c)
		c.Close()
		if err != nil || len(text) == 0 {
			continue // the connection ended with a killed child
		}
		pid, _ := strconv.Atoi(string(text))
		if killed[pid] = true; syscall.Kill(pid, syscall.SIGKILL) != nil {
			t.Fatalf("answered by %q, want a child", text)
		}
	}
	eventually(t, "children started again", func() bool { return r.meter.Snapshot().ChildrenStarted >= 5 })
	r.stopsCleanly()
}

// Once a child has lived, no number of early exits ends Run: a client whose request crashes each
// child does not end the service.
func TestEarlyExitsDoNotEndARunThatHasServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &supervisor{restartc: make(chan *childSlot, 100), slots: []*childSlot{{}, {}}}
		for i := range 100 {
			p := n.slots[i%2]
			p.startedAt = time.Now()
			if i == 0 {
				time.Sleep(2 * minLifetime)
			}
			if err := n.childExited(p); err != nil {
				t.Fatalf("early exit %d, after a child that served: Run returned %v, want it to continue", i, err)
			}
		}
	})
}

// Run ends if the program cannot serve.
func TestChildrenThatNeverLiveEndRun(t *testing.T) {
	err := Run(t.Context(), Prefork, listen(t), Service{Open: services["echo"].open, State: PerConnection},
		Options{Workers: 2, ChildCommand: []string{"/bin/false"}})
	if !errors.Is(err, errEarlyExits) {
		t.Errorf("Run returned %v, want %v", err, errEarlyExits)
	}
}
