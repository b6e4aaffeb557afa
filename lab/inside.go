package lab

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

// inside runs a stack that measures its own loopback: one process holds both ends and the
// generator.
func (r *Runner) inside(ctx context.Context, p Place, l Load, t *result.Trial) (err error) {
	s := r.subjects[p.baseSubject()]
	if s.Subject == nil || len(s.InsideCmd) == 0 {
		return fmt.Errorf("lab: the subject %s has no inside command: leave it out of the load %s", p.baseSubject(), l.Name)
	}
	net, err := makeNetwork(s.Subject)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, net.Close()) }()
	group, err := sample.NewGroup(s.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, group.Close()) }()
	placement, _, _, err := r.site.placements(l.Cores)
	if err != nil {
		return err
	}
	placement.Netns = net.Subject
	before, err := readInside(group)
	if err != nil {
		return err
	}
	r.progress(r.progressFor(p))
	report, err := runInside(ctx, group, placement, s.Subject, subject.Inside{Operation: l.Operation, Connections: p.Connections, Duration: r.windowOf(l), Cores: l.Cores})
	if err != nil {
		return contextError(ctx, err)
	}
	after, err := readInside(group)
	if err != nil {
		return err
	}
	report.fill(t, l)
	// The kernel threads that move its packets count as part of the trial. The generator is inside
	// the stack's process, so a generator process is missing here.
	seen := observation{before: before, after: after, ownsPacketThreads: true}
	ev := seen.judge((&watch{subject: &running{group: group}, generator: &generator{}}).trialProcesses())
	ev.SharedCores, ev.Errors = true, report.Errors
	judgeTrial(operations{}, t, ev)
	return nil
}

func readInside(g *sample.Group) (r reading, err error) {
	if r.machine, err = sample.ReadMachine(); err == nil {
		r.subject, err = g.CPU()
	}
	r.lab = ownCPU()
	return r, err
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
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
func (i *insideReport) fill(t *result.Trial, l Load) {
	t.Messages, t.Bytes, t.LatencyUS, t.WarmMessages = i.Messages, i.Bytes, i.LatencyUS, i.WarmMessages
	// The generator sends as fast as the stack accepts, so it sends all that it offers.
	t.WindowS, t.AchievedRatio = time.Duration(i.WindowNS).Seconds(), 1
	if i.Messages > 0 {
		t.CPUUSPerMessage = us(time.Duration(i.CPUNS)) / float64(i.Messages)
		t.MachineUSPerMsg = t.CPUUSPerMessage // both ends are in the process
	}
	if i.WindowNS > 0 {
		t.CPUPercentMean = 100 * float64(i.CPUNS) / float64(i.WindowNS)
	}
	t.Stack = &result.OnStack{Operation: l.Operation, MeanUS: i.MeanUS, GbitS: i.GbitS, After: i.Collector}
}
