package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/subject"
)

// contender is a subject of a run: one that the lab starts, or one that runs elsewhere.
type contender struct {
	*subject.Subject
	Elsewhere string // HOST:PORT; empty for a subject that the lab starts
	Here      bool   // Elsewhere is on this machine all the same
}

// findSubjects gathers and builds what takes part. A subject of the experiment's own that cannot is
// skipped, with the reason; without one that somebody asked for by name, or without any, there is
// no run.
func (r *Runner) findSubjects(ctx context.Context) error {
	r.subjects = map[string]contender{}
	if err := checkTargets(r.options.Targets); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	chosen, err := r.chosen()
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	if chosen, err = r.those(ctx, chosen, r.canServe); err != nil {
		return err
	}
	if chosen, err = r.those(ctx, chosen, r.build); err != nil {
		return err
	}
	for _, s := range chosen {
		r.take(contender{Subject: s}, s.Describe())
		r.programs[s.Name] = s.Program()
	}
	for _, target := range r.options.Targets {
		name, here := "target "+target, isHere(ctx, target)
		r.take(contender{Subject: &subject.Subject{Name: name, WarmMessages: 1000}, Elsewhere: target, Here: here},
			result.Subject{Name: name, Language: "?", Paradigm: "?", About: "Not started by the lab: its CPU is not measured.", Elsewhere: true, Here: here})
	}
	switch {
	case len(r.subjects) > 0:
		return nil
	case len(r.results.Skipped) == 0:
		return fmt.Errorf("lab: %s: subjects: name at least one", r.experiment.Name)
	}
	return fmt.Errorf("lab: no subject can take part: %s", skipped(r.results.Skipped))
}

// checkTargets finds out before anything is built what the generator would say in the middle of the
// run.
func checkTargets(targets []string) error {
	for i, target := range targets {
		if err := load.CheckTarget(target); err != nil {
			return err
		}
		if slices.Contains(targets[:i], target) {
			return fmt.Errorf("the target %s stands twice: name it once", target)
		}
	}
	return nil
}

func (r *Runner) take(c contender, d result.Subject) {
	r.subjects[d.Name] = c
	r.results.Subjects = append(r.results.Subjects, d)
}

// those are the subjects that can, by which is meant something that takes its time. One that cannot
// is an error if it is required, and else skipped.
func (r *Runner) those(ctx context.Context, all []*subject.Subject, can func(context.Context, *subject.Subject) error) (able []*subject.Subject, err error) {
	for _, s := range all {
		err := can(ctx, s)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			able = append(able, s)
		case r.required(s):
			return nil, fmt.Errorf("lab: %s has to take part and cannot: %w", s.Name, err)
		default:
			r.skip(s.Name, err)
		}
	}
	return able, nil
}

// skip goes on without a subject of the experiment's own, and says so at once: the report comes
// much later.
func (r *Runner) skip(name string, why error) {
	reason, _, _ := strings.Cut(why.Error(), "\n") // what a compiler says has many lines
	r.results.Skipped = append(r.results.Skipped, result.Skip{Subject: name, Reason: reason})
	r.progress(Progress{Phase: "leaving out", What: name + ": " + reason, CPU: -1})
}

// chosen is the experiment's subjects and those of the given files; of these, a resumed run takes
// the ones that it was begun with. A broken subject that nobody asked for is nobody's trouble.
func (r *Runner) chosen() ([]*subject.Subject, error) {
	names := slices.Clone(r.experiment.Subjects)
	if r.begun != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return !r.beganWith(name) })
	}
	names = r.withoutAbsent(names)
	if len(names)+len(r.options.SubjectFiles) == 0 {
		return nil, nil // to select nothing would be to select all
	}
	return subject.Select(r.options.Root, names, r.options.SubjectFiles)
}

// withoutAbsent leaves out the subjects of a built-in experiment that this checkout does not have,
// if it has others of them. In anybody else's experiment such a name is a slip of the finger.
func (r *Runner) withoutAbsent(names []string) []string {
	absent := func(name string) bool {
		_, err := os.Stat(filepath.Join(r.options.Root, "subjects", name))
		return errors.Is(err, fs.ErrNotExist) && !slices.Contains(r.options.Required, name)
	}
	there := slices.DeleteFunc(slices.Clone(names), absent)
	if !r.experiment.BuiltIn || len(there) == 0 {
		return names
	}
	for _, name := range names {
		if !slices.Contains(there, name) {
			r.skip(name, errors.New("this checkout has no such subject"))
		}
	}
	return there
}

// required says whether the run is not wanted without s.
func (r *Runner) required(s *subject.Subject) bool {
	return r.beganWith(s.Name) || slices.Contains(r.options.Required, s.Name) ||
		slices.Contains(r.options.SubjectFiles, s.File) || slices.Contains(r.options.SubjectFiles, s.Dir)
}

// beganWith says whether this is a resumed run in which the subject takes part.
func (r *Runner) beganWith(name string) bool {
	return r.begun != nil && slices.Contains(subjectNames(r.begun.Results.Subjects), name)
}

// canServe says what speaks against a subject before it is built.
func (r *Runner) canServe(_ context.Context, s *subject.Subject) error {
	if !s.Serves(r.experiment.Workload) {
		return fmt.Errorf("it does not serve the workload %s, only %s", r.experiment.Workload, strings.Join(s.Workloads, ", "))
	}
	if missing := s.Missing(); missing != "" {
		return errors.New(missing)
	}
	return nil
}

// build builds a subject, or says why it cannot.
func (r *Runner) build(ctx context.Context, s *subject.Subject) error {
	if r.begun != nil && s.Binary != "" && s.Program() == r.begun.Programs[s.Name] {
		// built again it might differ, if only in what the build writes down of its time and place
		return nil
	}
	r.progress(Progress{Phase: "building", What: s.Name, CPU: -1})
	if err := s.Build(ctx, io.Discard); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), s.Name+": "))
	}
	return nil
}

func skipped(all []result.Skip) string {
	var lines []string
	for _, s := range all {
		lines = append(lines, s.Subject+": "+s.Reason)
	}
	return strings.Join(lines, "; ")
}

func subjectNames(all []result.Subject) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return names
}

func baseName(name string) string { return strings.TrimSuffix(name, result.TwinSuffix) }
