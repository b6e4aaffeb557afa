package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/lab/subject"
)

// runner runs the checks of one kind at one address with one workload.
type runner struct {
	Options
	subject        *subject.Subject
	kind           *Kind
	host, workload string
	found          []Outcome
}

// Run runs the contract against a subject that is built, one check after the other, and returns an
// outcome for each that applies. The kinds are those of the subject's workloads, and may be more.
// Some checks share a server as long as they pass; an error at its exit counts for the last of
// them. If the first check of a kind ends by its time limit, the others are skipped. A server that
// cannot be started fails once per address and workload. If ctx ends, the current check fails and
// the others are omitted.
func Run(ctx context.Context, s *subject.Subject, kinds []Kind, o Options) (all []Outcome) {
	if o.Hosts == nil {
		o.Hosts = []string{"127.0.0.1", "::1"}
	}
	if s.Network != "" {
		o.Hosts = []string{"a device of its own"}
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	for _, host := range o.Hosts {
		for _, workload := range s.Workloads {
			r := &runner{Options: o, subject: s, host: host, workload: workload}
			r.run(ctx, kinds)
			all = append(all, r.found...)
		}
	}
	return all
}

// report adds an outcome.
func (r *runner) report(o Outcome) {
	o.Host, o.Workload = r.host, r.workload
	r.found = append(r.found, o)
	if r.Each != nil {
		r.Each(o)
	}
}

func (r *runner) run(ctx context.Context, kinds []Kind) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return slices.Contains(k.Workloads, r.workload) })
	if i < 0 {
		r.report(Outcome{Name: "start", Skipped: fmt.Sprintf("the workload %s has no checks", r.workload)})
		return
	}
	r.kind = &kinds[i]
	if reason := unavailable(r.subject, r.host); reason != "" {
		r.report(Outcome{Name: "start", Skipped: reason})
		return
	}
	due := r.kind.due(r.subject, r.Options, r.workload)
	for len(due) > 0 && ctx.Err() == nil {
		if reason := due[0].skipReason(r.subject); reason != "" {
			r.report(Outcome{Name: due[0].Name, Skipped: reason})
			due = due[1:]
			continue
		}
		round := due[:sharing(due)]
		made, err := r.try(ctx, round)
		if errors.As(err, new(startError)) {
			r.report(Outcome{Name: "start", Err: err})
			break
		}
		for _, c := range round[:made-1] {
			r.report(Outcome{Name: c.Name})
		}
		r.report(Outcome{Name: round[made-1].Name, Err: err})
		due = due[made:]
		if made == 1 && round[0].Name == r.kind.Checks[0].Name && errors.Is(err, ErrTimeout) {
			r.skip(due)
			break
		}
	}
}

// skip skips the checks after the first one of the kind, the plainest exchange, in which the server
// did not answer in time. Each would wait as long.
func (r *runner) skip(due []Check) {
	for _, c := range due {
		r.report(Outcome{Name: c.Name, Skipped: "the first check ended by its time limit"})
	}
}

// sharing returns how many of the checks, from the first on, can use one server.
func sharing(due []Check) int {
	n := 1
	for due[0].Shares && n < len(due) && due[n].Shares {
		n++
	}
	return n
}

// try runs the checks of a round with one server, up to the first that fails, and removes all
// traces of the server. It returns how many it ran, at least one. The error is the last one's: of
// the check, or of the server's exit.
func (r *runner) try(ctx context.Context, round []Check) (made int, err error) {
	b, err := newBench(ctx, r, round[0])
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if round[0].NoServer {
		return 1, Try(func() { round[0].Run(b) })
	}
	err = b.serve(func() {
		for _, c := range round {
			made++
			b.Output = r.kind.Output
			c.Run(b)
		}
	})
	return max(made, 1), err
}
