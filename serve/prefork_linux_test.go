package serve

import (
	"errors"
	"io"
	"strconv"
	"syscall"
	"testing"
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

// A program that cannot serve is found out.
func TestChildrenThatNeverLiveEndRun(t *testing.T) {
	err := Run(t.Context(), Prefork, listen(t), Service{Open: services["echo"].open, State: PerConnection},
		Options{Width: 2, Child: []string{"/bin/false"}})
	if !errors.Is(err, errStillborn) {
		t.Errorf("Run returned %v, want %v", err, errStillborn)
	}
}
