package lab

import (
	"context"

	"weir/lab/result"
	"weir/lab/subject"
)

// A workload is a kind of message: what is particular to its loads, its trials and their judgement.
// The methods of a Runner's workload are for the Runner's goroutine.
type workload interface {
	// checkLoad sets the defaults of one of e's loads, and returns what is wrong with it; empty if
	// it is valid.
	checkLoad(e *Experiment, l *Load) string
	// patterns returns the arrival patterns of an experiment's loads, and whether the loads
	// determine them. Otherwise they are a choice, and each load comes in each chosen one.
	patterns(e *Experiment) (all []string, byLoads bool)

	// place checks that the trials of a run can take place here, and may change the site.
	place(r *Runner) error
	// prepare makes what the trials of a run share.
	prepare(ctx context.Context, r *Runner) error
	// restrict limits loads to the subjects that can meet them.
	restrict(r *Runner)

	// start starts a subject for a trial.
	start(ctx context.Context, r *Runner, s *subject.Subject, l Load) (*running, error)
	// args returns the arguments of weir load for a place: the kind of load, its settings and addr.
	args(r *Runner, p Place, l Load, addr string) []string
	// warm runs a load until the subject of a trial is warm.
	warm(ctx context.Context, r *Runner, g *generator, s *running, l Load, t *result.Trial) error
	// fill adds to a trial what the report of its generator has besides the figures of all loads.
	fill(t *result.Trial, s *running, l Load, g loadReport, collectors collectorReports)

	// failures returns what the subject did wrong, and separately where it only did not keep up.
	failures(t *result.Trial, ev Evidence) (wrong, slow findings)
	// rejections returns why a measurement is not valid, besides the reasons of all loads. onTime:
	// the generator is judged by its schedule.
	rejections(t *result.Trial, ev Evidence, onTime bool) findings
}

// collectorReports are a stack's reports of its garbage collector before and after the window.
type collectorReports struct{ before, after *result.RuntimeStats }

// workloadNames are the values of Settings.Workload.
var workloadNames = []string{"sink", "echo", "page", "files", proxied, "chat", "stack"}

// workloadOf returns the workload of that name; nil if there is none.
func workloadOf(name string) workload {
	switch name {
	case "sink", "echo":
		return streams{echo: name == "echo"}
	case "page", "files", proxied:
		return requests{defaultPath: defaultPaths[name], proxied: name == proxied}
	case "chat":
		return deliveries{}
	case "stack":
		return operations{}
	}
	return nil
}

func (e *Experiment) workload() workload { return workloadOf(e.Workload) }

// servers is the part of a workload that is the same for all whose subjects are servers.
type servers struct{}

func (servers) place(*Runner) error { return nil }

func (servers) prepare(context.Context, *Runner) error { return nil }

func (servers) restrict(r *Runner) { r.addSubjectsFromFiles() }

func (servers) start(ctx context.Context, r *Runner, s *subject.Subject, l Load) (*running, error) {
	return r.startServer(ctx, s, l)
}

func (servers) warm(ctx context.Context, r *Runner, g *generator, s *running, l Load, t *result.Trial) error {
	return r.warmUntilSteady(ctx, g, s, l, t)
}

// fillClosed corrects the figures of a closed loop: it offers exactly what is answered.
func fillClosed(t *result.Trial) {
	if t.Pattern == result.Closed {
		t.OfferedRate, t.AchievedRatio = 0, 1
	}
}
