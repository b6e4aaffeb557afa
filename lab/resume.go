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

// Resume prepares to continue the run in dir, with the given command of the generator. Trials of
// one run are compared with one another, so everything else must be unchanged since the run
// started; an error names the differences. For progress and Close see NewRunner.
func Resume(ctx context.Context, dir string, generator []string, progress func(Progress)) (*Runner, error) {
	store, h, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	h.Options.Out, h.Options.Generator = dir, generator
	r := newRunner(&h.Experiment, h.Options, store, progress)
	r.resumedFrom = &h
	if err := r.prepare(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.results = &h.Results
	return r, nil
}

// rejectOtherMachine returns an error if a resumed run would continue on a different machine.
func (r *Runner) rejectOtherMachine() error {
	if r.resumedFrom == nil {
		return nil
	}
	return r.rejectChanges(machineChanges(&r.resumedFrom.Results, r.results))
}

// rejectOtherPrograms returns an error if a resumed run would continue with different programs. It
// must be called after they are built.
func (r *Runner) rejectOtherPrograms() error {
	r.programs["weir"] = (&subject.Subject{Binary: r.options.Generator[0]}).Program()
	if r.resumedFrom == nil {
		return nil
	}
	return r.rejectChanges(programChanges(r.resumedFrom.Programs, r.programs))
}

func (r *Runner) rejectChanges(changed []string) error {
	if len(changed) == 0 {
		return nil
	}
	return fmt.Errorf("lab: %s cannot be resumed: since it began, %s: put that back as it was, or start a new run", r.options.Out, strings.Join(changed, ", and "))
}

// machineChanges lists the differences between the machine, cores and CPU accounting of two
// results. Added toolchains do not count, nor does memory, which the hypervisor may change.
func machineChanges(then, now *result.Results) (changed []string) {
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
	differ("the accounting", accountingName(then), accountingName(now))
	return changed
}

// accountingName returns the name of the CPU accounting method that the figures use.
func accountingName(r *result.Results) string {
	if len(r.AccountingMethods) == 0 {
		return ""
	}
	return r.AccountingMethods[0].Name
}

// programChanges lists the programs that have changed.
func programChanges(then, now map[string]string) (changed []string) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if then[name] != now[name] {
			changed = append(changed, fmt.Sprintf("the program of %s has changed", name))
		}
	}
	return changed
}
