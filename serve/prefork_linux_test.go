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

// The death of a child, however young, is no reason to end what others serve.
func TestAChildThatDiesYoungIsStartedAgain(t *testing.T) {
	r := begin(t, Prefork, sessions, services["pid"], Options{Width: 2})
	killed := map[int]bool{}
	for len(killed) < 4 {
		c := r.dial()
		c.Write([]byte("?"))
		text, err := io.ReadAll(c)
		c.Close()
		if err != nil || len(text) == 0 {
			continue // it went down with a child that was killed
		}
		pid, _ := strconv.Atoi(string(text))
		if killed[pid] = true; syscall.Kill(pid, syscall.SIGKILL) != nil {
			t.Fatalf("answered by %q, want a child", text)
		}
	}
	eventually(t, "children started again", func() bool { return r.meter.Snapshot().Children >= 5 })
	r.stopsCleanly()
}

// Once a child has lived, no number of early deaths ends Run: a client that crashes each child by
// its request does not end the service.
func TestEarlyDeathsDoNotEndARunThatHasServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &nursery{duec: make(chan *place, 100), places: []*place{{}, {}}}
		for i := range 100 {
			p := n.places[i%2]
			p.began = time.Now()
			if i == 0 {
				time.Sleep(2 * soon)
			}
			if err := n.ended(p); err != nil {
				t.Fatalf("early death %d after a child that lived ends Run: %v", i, err)
			}
		}
	})
}

// A program that cannot serve is found out.
func TestChildrenThatNeverLiveEndRun(t *testing.T) {
	err := Run(t.Context(), Prefork, listen(t), Service{Open: services["echo"].open, State: PerConnection},
		Options{Width: 2, Child: []string{"/bin/false"}})
	if !errors.Is(err, errStillborn) {
		t.Errorf("Run returned %v, want %v", err, errStillborn)
	}
}
