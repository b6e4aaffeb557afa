package lab

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	loadstack "weir/lab/load/stack"
	"weir/lab/result"
)

// What loads of TCP/IP stacks have of their own.

// stack says whether the experiment's messages are operations on TCP/IP stacks.
func (e *Experiment) stack() bool { return result.IsStack(e.Workload) }

// asksStack says whether anything is set that only stacks have.
func (l Load) asksStack() bool { return l.Operation != "" || l.Inside || l.Processes || l.Cores != 0 }

// insideOperations are those whose both ends are on the stack.
var insideOperations = []string{result.OperationConnect, result.OperationBulk, result.OperationRR}

// badOperation says what is wrong with a load of a stack, or nothing.
func (e *Experiment) badOperation(l *Load) string {
	cold, rate := l.Cold, l.Rate
	l.Cold = false
	others := l.asksHTTP() || l.asksChat()
	l.Cold = cold
	known := loadstack.Operations
	if l.Inside {
		known = insideOperations
	}
	pings := l.Operation == result.OperationPing
	switch {
	case others || l.Size != 0 || l.Bits != 0 || l.Idle != 0 || l.Churn != 0 || l.WorkUS != 0 || l.WaitMS != 0:
		return "a load of the workload stack has an operation, inside, processes, cores, rate, connections and cold: leave the others out"
	case !slices.Contains(known, l.Operation):
		return fmt.Sprintf("the operation %q is unknown: write one of %s", l.Operation, strings.Join(known, ", "))
	case l.Processes && !pings:
		return "processes are a ping's: leave them out"
	case (rate != 0) != (pings && !l.Processes):
		return "a rate is that of each flow of pings by one sender: give it to these, and to nothing else"
	case l.Cores < 0 || l.Cores > 1024:
		return "cores must be from 0 to 1024"
	case twice("connections", l.Connections) != "":
		return twice("connections", l.Connections)
	}
	return e.impossibleOperation(*l)
}

// impossibleOperation says why the generator cannot offer l in some cell, or nothing.
func (e *Experiment) impossibleOperation(l Load) string {
	for _, n := range e.connectionsOf(l) {
		if l.Inside {
			if n < 1 || n > 10_000 {
				return fmt.Sprintf("%d connections inside are out of range: give 1 to 10000", n)
			}
			continue
		}
		c := loadstack.Config{Operation: l.Operation, Address: "10.77.0.2"}
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

// operationArgs is the generator's command for l. The peer's congestion control is set for each of
// its sockets: a namespace has the host's, which need not be the stacks'.
func (l Load) operationArgs(connections int, host string) []string {
	args := []string{"stack", l.Operation, host, "--steer"}
	n := strconv.Itoa(connections)
	switch {
	case l.Processes:
		return append(args, "--processes", n)
	case l.Operation == result.OperationPing:
		return append(args, "--flows", n, "--rate", strconv.FormatFloat(l.Rate*float64(connections), 'f', -1, 64))
	}
	return append(args, "--connections", n, "--congestion", loadstack.DefaultCongestion)
}

// stackWarm is how long operations go on before the window: connections fill their paths,
// neighbours and buffers are found. Nothing in a stack has to be compiled while it runs, so no rule
// has to see when it is warm.
const stackWarm = 500 * time.Millisecond

// warmStack lets the load run that long.
func (r *Runner) warmStack(ctx context.Context, g *generator, s *running, l Load, t *result.Trial) error {
	first, err := s.cpu()
	if err != nil {
		return err
	}
	var sent int64
	until := time.Now().Add(stackWarm)
	for time.Now().Before(until) && err == nil {
		var ev generatorEvent
		if ev, err = g.await(ctx, "progress", sayLimit); err == nil {
			sent = ev.Sent
		}
	}
	if cpu, bad := s.cpu(); bad == nil && sent > 0 {
		t.WarmMessages, t.ColdUSPerMsg = sent, us(cpu-first)/float64(sent)
	}
	return err
}

// fillOperation adds to a trial what the generator says of its operations, and the stack of itself.
// What is not answered is lost, and no fault of the generator's.
func (s *running) fillOperation(t *result.Trial, g loadReport, before, after *result.Collected) {
	t.Stack = &result.OnStack{Operation: g.Operation, Congestion: g.Congestion, MeanUS: g.MeanUS, GbitS: g.GbitS, Lost: g.Lost,
		SegmentsOut: g.SegmentsOut, SegmentsIn: g.SegmentsIn, Retransmitted: g.Retransmitted,
		BarePSSKB: s.barePSS >> 10, Bare: s.bare, Before: before, After: after}
	if g.Operation == result.OperationPing {
		t.Stack.Due = g.Report.Offered
	} else {
		t.OfferedRate = 0
	}
	t.AchievedRatio = 1
}
