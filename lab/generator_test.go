package lab

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"weir/internal/tail"
	"weir/lab/sample"
)

// A Ctrl-C reaches every process of the terminal's group at once; the generator is not for it to
// end.
func TestTheGeneratorHasAProcessGroupOfItsOwn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("accounting needs Linux")
	}
	g, err := startGenerator([]string{"cat"}, sample.Placement{})
	must(t, err)
	pgid, err := syscall.Getpgid(g.cmd.Process.Pid)
	if err != nil || pgid != g.cmd.Process.Pid {
		t.Errorf("process %d is in group %d (%v)", g.cmd.Process.Pid, pgid, err)
	}
	must(t, g.close())
}

// Whoever interrupts a run ends its generator too, and which of the two is seen first is chance.
func TestAnInterruptionIsSaidAsSuch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan generatorEvent)
	close(ended)
	for range 100 {
		g := &generator{cmd: exec.Command("true"), stderr: tail.New(10), events: ended, pulse: func() {}}
		err := g.each(ctx, time.Hour, func(generatorEvent) (bool, error) { return false, nil })
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("the error is %v", err)
		}
	}
}
