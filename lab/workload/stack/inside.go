package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"weir/internal/tail"
	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/subject"
	"weir/lab/workload"
)

// insideReport is the report of a stack that measured its own loopback. Counts are those of the
// window, except where noted.
type insideReport struct {
	Messages     int64              `json:"messages"`
	Bytes        int64              `json:"bytes"`
	GbitS        float64            `json:"gbit_s"`
	LatencyUS    result.Percentiles `json:"latency_us"`
	MeanUS       float64            `json:"mean_us"`
	Errors       map[string]int64   `json:"errors"`        // over the whole run
	CPUNS        int64              `json:"cpu_ns"`        // of the whole process in the window
	WindowNS     int64              `json:"window_ns"`     // length of the window
	WarmMessages int64              `json:"warm_messages"` // before the window
	// the garbage collector, at the end of the run
	Collector *result.RuntimeStats `json:"collector"`
}

// insideMargin is how much longer than twice its window a measurement inside a stack may take. The
// second window is for the warm-up, which takes at most a quarter of one, and for a busy machine.
const insideMargin = 15 * time.Second

// RunAlone implements workload.Session. It runs a stack that measures its own loopback: one process
// holds both ends and the generator. The kernel threads that move its packets count as part of the
// trial.
func (v session) RunAlone(ctx context.Context, a workload.Alone) (ev workload.Evidence, err error) {
	l := a.Load.(*Load)
	if len(a.Subject.InsideCmd) == 0 {
		return ev, fmt.Errorf("lab: the subject %s has no inside command: leave it out of the load %s", a.Subject.Name, l.Name)
	}
	net, err := makeNetwork(a.Subject)
	if err != nil {
		return ev, err
	}
	defer func() { err = errors.Join(err, net.Close()) }()
	placement, _, _, err := v.site.Placements(l.Cores)
	if err != nil {
		return ev, err
	}
	placement.Netns = net.Subject
	var report insideReport
	ev, err = a.Observe(func(g *sample.Group) (err error) {
		report, err = runInside(ctx, g, placement, a.Subject, subject.Inside{Operation: l.Operation, Connections: a.Cell.Connections, Duration: a.Window, Cores: l.Cores})
		return workload.ContextError(ctx, err)
	})
	if err != nil {
		return ev, err
	}
	report.fill(a.Trial, l)
	ev.SharedCores, ev.Errors = true, report.Errors
	return ev, nil
}

// runInside runs the command to its end and decodes its report.
func runInside(ctx context.Context, g *sample.Group, placement sample.Placement, s *subject.Subject, i subject.Inside) (r insideReport, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, i.Duration*2+insideMargin, errors.New("it did not exit in time"))
	defer cancel()
	words := s.InsideCommand(i)
	var out bytes.Buffer
	stderr := tail.New(4096)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, &out, stderr
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, time.Second
	if err := g.Start(cmd, placement); err != nil {
		return r, fmt.Errorf("lab: %s cannot start: %w", s.Name, err)
	}
	ended := make(chan error, 1) // one result, from the goroutine below
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = errors.Join(context.Cause(ctx), syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
		<-ended
	}
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &r)
	}
	if err != nil {
		return r, fmt.Errorf("lab: %s inside: %w: %s", s.Name, err, stderr.LastLine())
	}
	return r, nil
}

// fill copies the stack's report into a trial.
func (i *insideReport) fill(t *result.Trial, l *Load) {
	t.Messages, t.Bytes, t.LatencyUS, t.WarmMessages = i.Messages, i.Bytes, i.LatencyUS, i.WarmMessages
	// The generator sends as fast as the stack accepts, so it sends all that it offers.
	t.WindowS, t.AchievedRatio = time.Duration(i.WindowNS).Seconds(), 1
	if i.Messages > 0 {
		t.CPUUSPerMessage = float64(i.CPUNS) / 1000 / float64(i.Messages)
		t.MachineUSPerMsg = t.CPUUSPerMessage // both ends are in the process
	}
	if i.WindowNS > 0 {
		t.CPUPercentMean = 100 * float64(i.CPUNS) / float64(i.WindowNS)
	}
	t.Stack = &result.OnStack{Operation: l.Operation, MeanUS: i.MeanUS, GbitS: i.GbitS, After: i.Collector}
}
