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
	"weir/lab/agent"
	"weir/lab/sample"
)

// TestGeneratorHasItsOwnProcessGroup: Ctrl-C reaches every process of the terminal's foreground
// group, and must not end the generator.
func TestGeneratorHasItsOwnProcessGroup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("accounting needs Linux")
	}
	g, err := startGenerator([]string{"cat"}, sample.Placement{})
	must(t, err)
	pid := g.source.(*loadProcess).cmd.Process.Pid
	pgid, err := syscall.Getpgid(pid)
	if err != nil || pgid != pid {
		t.Errorf("process %d: got group %d (%v), want its own", pid, pgid, err)
	}
	must(t, g.close())
}

// TestInterruptionIsReported: an interrupted run also ends its generator, and either may be seen
// first.
func TestInterruptionIsReported(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan agent.Event)
	close(ended)
	for range 100 {
		g := &generator{source: &loadProcess{cmd: exec.Command("true"), stderr: tail.New(10)}, events: ended, onTick: func() {}}
		err := g.eachEvent(ctx, time.Hour, func(agent.Event) (bool, error) { return false, nil })
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got error %v, want context.Canceled", err)
		}
	}
}
