package lab

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/lab/internal/network"
	"weir/lab/report"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/stack"
)

// serveStack stands for a TCP/IP stack by using the kernel's. The test binary runs it with the
// arguments "stack HOST".
func serveStack(host string) {
	orders := make(chan os.Signal, 1) // from the runtime
	signal.Notify(orders, syscall.SIGTERM, syscall.SIGUSR1)
	for port, answer := range map[string]func(net.Conn) (int64, error){
		"7": func(c net.Conn) (int64, error) { return io.Copy(c, c) },
		"9": func(c net.Conn) (int64, error) { return io.Copy(io.Discard, c) },
	} {
		l, err := net.Listen("tcp4", net.JoinHostPort(host, port))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				go func() {
					_, _ = answer(c)
					c.Close()
				}()
			}
		}()
	}
	fmt.Println("ready")
	for order := range orders {
		if order == syscall.SIGTERM {
			os.Exit(0)
		}
		fmt.Println("something else\n{\"heap_bytes\":5,\"stack_bytes\":4,\"collections\":3,\"goroutines\":2,\"pauses_ns\":{\"max\":1}}")
	}
}

// insideStack prints the report of a stack that has measured itself. The test binary runs it with
// the arguments "inside OPERATION CONNECTIONS".
func insideStack(operation, connections string) {
	if operation == "bulk" {
		fmt.Fprintln(os.Stderr, "it has no bulk")
		os.Exit(1)
	}
	fmt.Printf("{\"operation\":%q,\"connections\":%s,\"messages\":1000,\"bytes\":2000,\"gbit_s\":0.5,\"mean_us\":12.5,\"errors\":{},\"cpu_ns\":7000000,\"window_ns\":200000000}\n", operation, connections)
	os.Exit(0)
}

const smallStack = `
name = "mine"
workload = "stack"
subjects = ["stack-kernel"]
connections = [8]
[[load]]
`

func TestInvalidLoadOfStacksIsRejectedWithARemedy(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"requests' keys", smallStack + "operation = \"rr\"\ngzip = true\n", `no setting "load.gzip"`},
		{"streams' keys", smallStack + "operation = \"rr\"\nsize = 5\n", `no setting "load.size"`},
		{"stacks' keys with messages", strings.Replace(smallStack, "\"stack\"", "\"sink\"", 1) + "rate = 1\nsize = 10\ncores = 5\n", `no setting "load.cores"`},
		{"no operation", smallStack, `the operation "" is unknown: write one of ping`},
		{"bulk over a device", smallStack + "operation = \"bulk\"\n", `the operation "bulk" is unknown`},
		{"pings inside", smallStack + "operation = \"ping\"\ninside = true\n", `"ping" is unknown: write one of connect, bulk, rr`},
		{"pings without a rate", smallStack + "operation = \"ping\"\n", "a rate applies only to flows of pings"},
		{"a rate of bulk", smallStack + "operation = \"in\"\nrate = 5\n", "a rate applies only to flows of pings"},
		{"a rate of processes", smallStack + "operation = \"ping\"\nprocesses = true\nrate = 5\n", "a rate applies only to flows of pings"},
		{"processes of bulk", smallStack + "operation = \"in\"\nprocesses = true\n", "processes is for the operation ping only"},
		{"too many pings", smallStack + "operation = \"ping\"\nrate = 1e6\n", "with 8 connections: a rate of"},
		{"too many inside", smallStack + "operation = \"rr\"\ninside = true\nconnections = [10001]\n", "10001 connections inside are out of range"},
		{"cores", smallStack + "operation = \"rr\"\ncores = -1\n", "cores must be from 0 to 1024"},
		{"patterns", "patterns = [\"poisson\"]\n" + smallStack + "operation = \"rr\"\n", "patterns: requests, deliveries and operations come as their loads say"},
	} {
		e, err := ParseExperiment("mine.toml", []byte(test.text))
		if err == nil {
			err = e.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", test.name, err, test.want)
		}
	}
}

// inside returns a load inside stacks, for subjects.
func inside(subjects ...string) workload.Load {
	return &stack.Load{Inside: true, Common: workload.Common{Subjects: subjects}}
}

func TestOnlyStacksWithInsideMeetInsideLoads(t *testing.T) {
	r := &Runner{experiment: &Experiment{Settings: Settings{Loads: []workload.Load{inside(), inside("a"), inside("b"), &stack.Load{}, &stack.Load{Common: workload.Common{Subjects: []string{"a"}}}}}}}
	r.subjects = map[string]contender{"a": {Subject: &subject.Subject{Name: "a"}}, "b": {Subject: &subject.Subject{Name: "b", InsideCmd: []string{"b"}}}, "mine": {Subject: &subject.Subject{Name: "mine", File: "/mine/subject.toml"}}}
	r.options.SubjectFiles = []string{"/mine/subject.toml"}
	r.restrictLoads()
	for i, want := range []string{"b", "stacks with an inside command", "b", "", "a mine"} {
		if got := strings.Join(r.experiment.Loads[i].Shared().Subjects, " "); got != want {
			t.Errorf("load %d: got subjects %q, want %q", i, got, want)
		}
	}
}

// The generator pings over IPv4 only.
func TestStacksWithIPv6MeetNoPings(t *testing.T) {
	r := &Runner{experiment: &Experiment{Settings: Settings{Loads: []workload.Load{&stack.Load{Operation: "ping"}, &stack.Load{Operation: "ping", Common: workload.Common{Subjects: []string{"six"}}}, &stack.Load{Operation: "rr"}}}}}
	r.subjects = map[string]contender{"four": {Subject: &subject.Subject{Name: "four", Network: "tap"}}, "six": {Subject: &subject.Subject{Name: "six", Network: "tap6"}}}
	r.restrictLoads()
	for i, want := range []string{"four", "stacks with IPv4", ""} {
		if got := strings.Join(r.experiment.Loads[i].Shared().Subjects, " "); got != want {
			t.Errorf("load %d: got subjects %q, want %q", i, got, want)
		}
	}
	delete(r.subjects, "six")
	r.experiment.Loads[0].Shared().Subjects = nil
	if r.restrictLoads(); len(r.experiment.Loads[0].Shared().Subjects) > 0 {
		t.Errorf("without IPv6: got subjects %q, want all", r.experiment.Loads[0].Shared().Subjects)
	}
}

// TestRunOfStacksReportsEachLoad runs a small form of the experiment stack on the kernel's stack.
func TestRunOfStacksReportsEachLoad(t *testing.T) {
	cable, err := network.Cable(fmt.Sprintf("weirtry%d", os.Getpid()))
	if err != nil {
		t.Skip(err) // needs root and a kernel with veth
	}
	must(t, cable.Close())
	b := newBench(t)
	no := false
	b.experiment.Workload, b.experiment.Patterns, b.experiment.AAControl, b.experiment.TimeLimit = "stack", nil, &no, workload.Duration(1)
	b.experiment.Connections, b.experiment.Duration = []int{2}, workload.Duration(200*time.Millisecond)
	b.experiment.Subjects = []string{"stack-test"}
	b.experiment.Loads = []workload.Load{
		&stack.Load{Common: workload.Common{Name: "round trips"}, Operation: "rr"},
		&stack.Load{Common: workload.Common{Name: "idle", Connections: []int{20}}, Operation: "idle"},
		&stack.Load{Common: workload.Common{Name: "inside"}, Operation: "rr", Inside: true},
	}
	dir := filepath.Join(b.options.Root, "subjects", "stack-test")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "subject.toml"), fmt.Appendf(nil, "name = \"stack-test\"\nlanguage = \"Go\"\nparadigm = \"the kernel's\"\nworkloads = [\"stack\"]\nnetwork = \"veth\"\n"+
		"run = [%q, \"stack\", \"{host}\"]\ninside = [%q, \"inside\", \"{operation}\", \"{connections}\"]\nready = \"line: ready\"\n", os.Args[0], os.Args[0]), 0o644))
	found, err := b.run(t.Context(), nil)
	must(t, err)
	if len(found.Trials) != 6 {
		t.Errorf("got %d trials, want 6", len(found.Trials))
	}
	for i, trial := range found.Trials {
		// on a busy machine all are rejected, and the report must show them
		found.Trials[i].Accepted = true
		s := trial.Stack
		if s == nil || len(trial.FailedBecause) > 0 || trial.Messages == 0 {
			t.Fatalf("%s: got %+v, %d messages, failures %q; want the stack's figures and messages without failures", trial.Load, s, trial.Messages, trial.FailedBecause)
		}
		reported := s.After != nil && s.Before != nil && s.Bare != nil && s.After.HeapBytes == 5 && s.After.PausesNS.Max == 1
		switch trial.Load {
		case "round trips":
			if !reported || s.MeanUS <= 0 || s.Congestion == "" || trial.Pattern != result.Closed || trial.CPUUSPerMessage <= 0 {
				t.Errorf("round trips: got %+v, CPU %v, pattern %s; want reports, a mean, a congestion control, CPU time and a closed loop", s, trial.CPUUSPerMessage, trial.Pattern)
			}
		case "idle":
			if !reported || trial.Messages != 20 || s.BarePSSKB <= 0 {
				t.Errorf("idle: got %+v, %d connections; want reports, memory and 20 connections", s, trial.Messages)
			}
		case "inside":
			if trial.Messages != 1000 || s.MeanUS != 12.5 || trial.CPUUSPerMessage != 7 || trial.CPUPercentMean != 3.5 {
				t.Errorf("inside: got %+v, %+v; want 1000 messages, a mean of 12.5 us and the CPU time 7 us, 3.5%%", trial, s)
			}
		}
	}
	must(t, report.Write(b.options.Out, found, ReportKind(found.Plan.Workload)))
	page, err := os.ReadFile(filepath.Join(b.options.Out, "report.md"))
	must(t, err)
	for _, want := range []string{"Round trips: a byte to the stack and back", "memory per idle connection", "over the stack's own loopback"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("got a report without %q, want it", want)
		}
	}
}
