package stack

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/stack/stackload"
)

// Load is an operation on a TCP/IP stack, by so many clients, or by so many flows of Rate pings a
// second.
type Load struct {
	workload.Common
	// ping, connect, in, out, rr, idle; inside: connect, bulk, rr
	Operation string `toml:"operation"`
	Inside    bool   `toml:"inside"` // both ends are on the stack, over its own loopback
	// one process of the system's ping command per flow, each at one ping a second
	Processes bool `toml:"processes"`
	// cores of the stack, the peer gets the others; 0: both use all
	Cores int `toml:"cores"`
}

// insideOperations are the operations with both ends on the stack.
var insideOperations = []string{result.OperationConnect, result.OperationBulk, result.OperationRR}

// Clone implements workload.Load.
func (l *Load) Clone() workload.Load { c := *l; return &c }

// Pattern implements workload.Load. Pings and idle connections do not wait for an answer.
func (l *Load) Pattern() string {
	if l.Operation == result.OperationPing || l.Operation == result.OperationIdle {
		return load.Staggered
	}
	return l.LoopPattern("")
}

// Check implements workload.Load.
func (l *Load) Check(in workload.Context) string {
	known := stackload.Operations
	if l.Inside {
		known = insideOperations
	}
	pings := l.Operation == result.OperationPing
	switch {
	case !slices.Contains(known, l.Operation):
		return fmt.Sprintf("the operation %q is unknown: write one of %s", l.Operation, strings.Join(known, ", "))
	case l.Processes && !pings:
		return "processes is for the operation ping only: leave it out"
	case (l.Rate != 0) != (pings && !l.Processes):
		return "a rate applies only to flows of pings without processes, which need one"
	case l.Cores < 0 || l.Cores > 1024:
		return "cores must be from 0 to 1024"
	case workload.Duplicate("connections", l.Connections) != "":
		return workload.Duplicate("connections", l.Connections)
	}
	return l.unofferable(in.Connections)
}

// unofferable returns why the generator cannot offer l with some number of connections; empty if it
// can.
func (l *Load) unofferable(connections []int) string {
	for _, n := range connections {
		if l.Inside {
			if n < 1 || n > 10_000 {
				return fmt.Sprintf("%d connections inside are out of range: give 1 to 10000", n)
			}
			continue
		}
		c := stackload.Config{Operation: l.Operation, Address: "10.77.0.2"}
		switch {
		case l.Processes:
			c.Processes = n
		case l.Operation == result.OperationPing:
			c.Flows, c.Rate = n, l.Rate*float64(n)
		default:
			c.Connections = n
		}
		if err := c.Check(true); err != nil {
			return fmt.Sprintf("with %d connections: %s", n, strings.TrimPrefix(err.Error(), "load: "))
		}
	}
	return ""
}

// Recorded implements workload.Load.
func (l *Load) Recorded() result.Load {
	r := l.Common.Recorded()
	r.Operation = result.Operation{Name: l.Operation, Inside: l.Inside, Processes: l.Processes, Cores: l.Cores}
	return r
}

// warmUp is how long operations run before the window, so that congestion windows open and
// neighbours and buffers are resolved. Stacks have no just-in-time compiler, so a fixed time is
// enough.
const warmUp = 500 * time.Millisecond

// WarmUp implements workload.Load.
func (*Load) WarmUp() time.Duration { return warmUp }

// Alone reports whether a stack measures its own loopback.
func (l *Load) Alone() bool { return l.Inside }

// Meets reports whether a subject can meet the load. Inside loads need an inside command, pings
// IPv4, and pings by processes the command ping.
func (l *Load) Meets(s *subject.Subject, _ bool) bool {
	switch {
	case l.Inside:
		return len(s.InsideCmd) > 0
	case l.Processes && !hasPing():
		return false
	}
	return l.Operation != result.OperationPing || !s.HasIPv6()
}

// Needs implements workload.Load.
func (l *Load) Needs() string {
	switch {
	case l.Inside:
		return "stacks with an inside command"
	case l.Processes && !hasPing():
		return "a machine with the command ping (iputils-ping)"
	}
	return "stacks with IPv4"
}

func hasPing() bool {
	_, err := exec.LookPath("ping")
	return err == nil
}
