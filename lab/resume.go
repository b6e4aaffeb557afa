package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/lab/result"
	"weir/lab/subject"
)

// Resume prepares to go on with the run in dir, with the generator's command as it is now. Trials
// of one run are compared with one another, so everything else must be as it was when the run
// began: an error names what is not. Progress and Close are NewRunner's.
func Resume(ctx context.Context, dir string, generator []string, progress func(Progress)) (*Runner, error) {
	store, h, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	h.Options.Out, h.Options.Generator = dir, generator
	r := newRunner(&h.Experiment, h.Options, store, progress)
	r.begun = &h
	if err := r.prepare(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.results = &h.Results
	return r, nil
}

// refuseOtherPlace is an error if a resumed run would go on in another place than it began.
func (r *Runner) refuseOtherPlace() error {
	if r.begun == nil {
		return nil
	}
	return r.refuse(otherPlace(&r.begun.Results, r.results))
}

// refuseOtherPrograms is an error if a resumed run would go on with other programs. They are built
// by then.
func (r *Runner) refuseOtherPrograms() error {
	r.programs["weir"] = (&subject.Subject{Binary: r.options.Generator[0]}).Program()
	if r.begun == nil {
		return nil
	}
	return r.refuse(otherPrograms(r.begun.Programs, r.programs))
}

func (r *Runner) refuse(changed []string) error {
	if len(changed) == 0 {
		return nil
	}
	return fmt.Errorf("lab: %s cannot be resumed: since it began, %s: put that back as it was, or start a new run", r.options.Out, strings.Join(changed, ", and "))
}

// otherPlace says what differs between the machine, cores and accounting of two results. Toolchains
// may have been added, and memory is what the hypervisor gives at the moment.
func otherPlace(then, now *result.Results) (changed []string) {
	differ := func(what string, a, b any) {
		if a, b := fmt.Sprint(a), fmt.Sprint(b); a != b {
			changed = append(changed, fmt.Sprintf("%s was %q and is %q", what, a, b))
		}
	}
	a, b := then.Machine, now.Machine
	differ("the kernel", a.Kernel, b.Kernel)
	differ("the CPU", a.CPU, b.CPU)
	differ("the number of cores", a.Cores, b.Cores)
	differ("the congestion control", a.Congestion, b.Congestion)
	for _, v := range a.Versions {
		if !slices.Contains(b.Versions, v) {
			changed = append(changed, fmt.Sprintf("%q is gone", v))
		}
	}
	differ("the subject's cores", then.Plan.ServerCPUs, now.Plan.ServerCPUs)
	differ("the generator's cores", then.Plan.LoadCPUs, now.Plan.LoadCPUs)
	differ("the accounting", rulerName(then), rulerName(now))
	return changed
}

// rulerName is the accounting that the figures use.
func rulerName(r *result.Results) string {
	if len(r.Rulers) == 0 {
		return ""
	}
	return r.Rulers[0].Name
}

// otherPrograms says which programs are not what they were.
func otherPrograms(then, now map[string]string) (changed []string) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if then[name] != now[name] {
			changed = append(changed, fmt.Sprintf("the program of %s has changed", name))
		}
	}
	return changed
}
