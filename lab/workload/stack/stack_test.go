package stack

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"weir/lab/workload"
)

// TestRatesOfFlowsArePassedInTotal: rates are per flow in an experiment, and in total on the
// command line.
func TestRatesOfFlowsArePassedInTotal(t *testing.T) {
	for _, test := range []struct {
		load *Load
		want string
	}{
		{&Load{Operation: "ping", Common: workload.Common{Rate: 10}}, "stack ping 10.77.0.2 --steer --flows 100 --rate 1000"},
		{&Load{Operation: "ping", Processes: true}, "stack ping 10.77.0.2 --steer --processes 100"},
		{&Load{Operation: "in"}, "stack in 10.77.0.2 --steer --connections 100 --congestion cubic"},
		{&Load{Operation: "idle"}, "stack idle 10.77.0.2 --steer --connections 100 --congestion cubic"},
	} {
		if got := strings.Join(session{}.Args(test.load, workload.Cell{Connections: 100}, workload.Target{Addr: "10.77.0.2"}), " "); got != test.want {
			t.Errorf("got command %q, want %q", got, test.want)
		}
	}
}

// TestOnlyProcessesWithAHandlerHandleASignal: a program without a handler would be killed by the
// signal.
func TestOnlyProcessesWithAHandlerHandleASignal(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip(err)
	}
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	}()
	if handlesSignal(sleeper.Process.Pid, syscall.SIGUSR1) || handlesSignal(1<<30, syscall.SIGUSR1) {
		t.Error("handlesSignal returned true for a process without a handler, or for no process; want false")
	}
	orders := make(chan os.Signal, 1)
	signal.Notify(orders, syscall.SIGUSR1)
	defer signal.Stop(orders)
	if !handlesSignal(os.Getpid(), syscall.SIGUSR1) {
		t.Error("got no handler for this process, want one")
	}
}
