package lab

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"weir/lab/result"
	"weir/lab/subject"
)

// contender is a subject of a run: one that the lab starts, or one that runs elsewhere.
type contender struct {
	*subject.Subject
	Elsewhere string // HOST:PORT; empty for a subject that the lab starts
}

// findSubjects gathers and builds what takes part. A subject that cannot is skipped, with the reason; a
// name that nobody has is an error, and so is a run that nobody can take part in.
func (r *Runner) findSubjects(ctx context.Context) error {
	r.subjects = map[string]contender{}
	known, err := r.knownSubjects()
	if err != nil {
		return err
	}
	for _, name := range r.experiment.Subjects {
		s, ok := known[name]
		if !ok {
			return fmt.Errorf("lab: there is no subject %q: see weir lab list, or add one by --subject FILE", name)
		}
		if reason := r.prepare(ctx, s); reason != "" {
			r.results.Skipped = append(r.results.Skipped, result.Skip{Subject: name, Reason: reason})
			continue
		}
		r.take(contender{Subject: s}, s.Describe())
	}
	for _, target := range r.options.Targets {
		name := "target " + target
		r.take(contender{Subject: &subject.Subject{Name: name, WarmMessages: 1000}, Elsewhere: target},
			result.Subject{Name: name, Language: "?", Paradigm: "?", About: "Runs elsewhere: its CPU is not measured.", Elsewhere: true})
	}
	switch {
	case len(r.subjects) > 0:
		return nil
	case len(r.results.Skipped) == 0:
		return fmt.Errorf("lab: %s: subjects: name at least one", r.experiment.Name)
	}
	return fmt.Errorf("lab: no subject can take part: %s", skipped(r.results.Skipped))
}

func (r *Runner) take(c contender, d result.Subject) {
	r.subjects[d.Name] = c
	r.results.Subjects = append(r.results.Subjects, d)
}

// knownSubjects are the project's and those of the given files, which always take part.
func (r *Runner) knownSubjects() (map[string]*subject.Subject, error) {
	known := map[string]*subject.Subject{}
	found, err := subject.Discover(r.options.Root)
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		known[s.Name] = s
	}
	for _, file := range r.options.SubjectFiles {
		s, err := subject.Read(file)
		if err != nil {
			return nil, err
		}
		if known[s.Name] != nil {
			return nil, fmt.Errorf("lab: %s: there is already a subject %q: give it another name", file, s.Name)
		}
		known[s.Name] = s
		if !slices.Contains(r.experiment.Subjects, s.Name) {
			r.experiment.Subjects = append(r.experiment.Subjects, s.Name)
		}
	}
	return known, nil
}

// prepare builds a subject and says why it cannot take part, in a line, or nothing.
func (r *Runner) prepare(ctx context.Context, s *subject.Subject) string {
	if !slices.Contains(s.Workloads, r.experiment.Workload) {
		return fmt.Sprintf("it does not serve the workload %s", r.experiment.Workload)
	}
	if missing := s.Missing(); missing != "" {
		return missing
	}
	r.progress(Progress{Phase: "building", What: s.Name, CPU: -1})
	if err := s.Build(ctx, io.Discard); err != nil {
		return err.Error()
	}
	return ""
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
