package sample

import (
	"os/exec"
	"testing"
	"time"
)

// TestARunningProcessIsObserved: its descendants count too, and it goes on when the group closes.
func TestARunningProcessIsObserved(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sh -c 'while :; do :; done' & read line; kill $!")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g, err := Observe(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	cpu := time.Duration(0)
	for cpu < 20*time.Millisecond && time.Now().Before(deadline) {
		if cpu, err = g.CPU(); err != nil {
			t.Fatal(err)
		}
	}
	census, err := g.Census()
	if err != nil || census.Processes != 2 || census.RSS == 0 || cpu < 20*time.Millisecond {
		t.Errorf("got %d processes, %d bytes and %v of CPU with error %v; want 2 processes with memory and 20ms", census.Processes, census.RSS, cpu, err)
	}
	if err := g.Start(exec.Command("true"), Placement{}); err == nil {
		t.Error("starting a command: got no error, want one")
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if pids, err := g.PIDs(); err != nil || len(pids) != 2 {
		t.Errorf("after Close: got the processes %v and error %v, want both", pids, err)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for pids, _ := g.PIDs(); len(pids) > 0 && time.Now().Before(deadline); pids, _ = g.PIDs() {
	}
	if last, err := g.CPU(); err != nil || last < cpu {
		t.Errorf("after the end: got %v and error %v, want what the processes used, %v or more", last, err, cpu)
	}
	if _, err := Observe(cmd.Process.Pid); err == nil {
		t.Error("observing an ended process: got no error, want one")
	}
}
