package lab

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload/stack/stackload"
)

// operations is the workload of operations on TCP/IP stacks, which are no servers.
type operations struct{}

func (operations) patterns(e *Experiment) (all []string, byLoads bool) { return e.loadPatterns(), true }

// hasStackSettings reports whether a setting is set that only stack loads have.
func (l Load) hasStackSettings() bool {
	return l.Operation != "" || l.Inside || l.Processes || l.Cores != 0
}

// insideOperations are the operations with both ends on the stack.
var insideOperations = []string{result.OperationConnect, result.OperationBulk, result.OperationRR}

func (operations) checkLoad(e *Experiment, l *Load) string {
	cold, rate := l.Cold, l.Rate
	l.Cold = false
	others := l.hasHTTPSettings() || l.hasChatSettings()
	l.Cold = cold
	known := stackload.Operations
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
		return "processes is for the operation ping only: leave it out"
	case (rate != 0) != (pings && !l.Processes):
		return "a rate applies only to flows of pings without processes, which need one"
	case l.Cores < 0 || l.Cores > 1024:
		return "cores must be from 0 to 1024"
	case duplicate("connections", l.Connections) != "":
		return duplicate("connections", l.Connections)
	}
	return e.unofferableOperation(*l)
}

// unofferableOperation returns why the generator cannot offer l in some cell; empty if it can.
func (e *Experiment) unofferableOperation(l Load) string {
	for _, n := range e.connectionsOf(l) {
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

func (operations) place(r *Runner) error { return r.prepareStacks() }

func (operations) prepare(context.Context, *Runner) error { return nil }

func (operations) restrict(r *Runner) {
	r.addSubjectsFromFiles()
	r.restrictLoads()
}

func (operations) start(ctx context.Context, r *Runner, s *subject.Subject, l Load) (*running, error) {
	return r.startStack(ctx, s, l)
}

func (operations) args(_ *Runner, p Place, l Load, addr string) []string {
	return l.operationArgs(p.Connections, addr)
}

// operationArgs returns the generator's command line for l. The peer's congestion control is set on
// each of its sockets, because a namespace inherits the host's, which may differ from the stacks'.
func (l Load) operationArgs(connections int, host string) []string {
	args := []string{"stack", l.Operation, host, "--steer"}
	n := strconv.Itoa(connections)
	switch {
	case l.Processes:
		return append(args, "--processes", n)
	case l.Operation == result.OperationPing:
		return append(args, "--flows", n, "--rate", strconv.FormatFloat(l.Rate*float64(connections), 'f', -1, 64))
	}
	return append(args, "--connections", n, "--congestion", stackload.DefaultCongestion)
}

// stackWarmUp is how long operations run before the window, so that congestion windows open and
// neighbours and buffers are resolved. Stacks have no just-in-time compiler, so a fixed time is
// enough.
const stackWarmUp = 500 * time.Millisecond

// warm runs the load for stackWarmUp.
func (operations) warm(ctx context.Context, _ *Runner, g *generator, s *running, _ Load, t *result.Trial) error {
	first, err := s.cpu()
	if err != nil {
		return err
	}
	var sent int64
	until := time.Now().Add(stackWarmUp)
	for time.Now().Before(until) && err == nil {
		var ev generatorEvent
		if ev, err = g.awaitEvent(ctx, "progress", eventTimeout); err == nil {
			sent = ev.Sent
		}
	}
	if cpu, bad := s.cpu(); bad == nil && sent > 0 {
		t.WarmMessages, t.ColdUSPerMsg = sent, us(cpu-first)/float64(sent)
	}
	return err
}

// fill implements workload. Unanswered operations count as lost, not as a fault of the generator.
func (operations) fill(t *result.Trial, s *running, _ Load, g loadReport, collectors collectorReports) {
	t.Stack = &result.OnStack{Operation: g.Operation, Congestion: g.Congestion, MeanUS: g.MeanUS, GbitS: g.GbitS, Lost: g.Lost,
		SegmentsOut: g.SegmentsOut, SegmentsIn: g.SegmentsIn, Retransmitted: g.Retransmitted,
		BarePSSKB: s.barePSS >> 10, Bare: s.bareGC, Before: collectors.before, After: collectors.after}
	if g.Operation == result.OperationPing {
		t.Stack.Due = g.Report.Offered
	} else {
		t.OfferedRate = 0
	}
	t.AchievedRatio = 1
}

func (operations) failures(t *result.Trial, ev Evidence) (wrong, slow findings) {
	return messageFailures(t, ev)
}

// rejections implements workload. The generator is the peer, so it may be what limits a closed
// loop.
func (operations) rejections(t *result.Trial, _ Evidence, onTime bool) findings {
	return loadShort(t, onTime)
}
