package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
)

// contender is a subject of a run: one that the lab starts, or a server that already runs.
type contender struct {
	*subject.Subject
	Target        string // HOST:PORT of a running server; empty for a subject that the lab starts
	OnThisMachine bool   // Target is an address of this machine
}

// findSubjects collects and builds the subjects of the run. A subject of the experiment that cannot
// run is skipped with the reason. The run fails if a required subject cannot run, or if none can.
func (r *Runner) findSubjects(ctx context.Context) error {
	r.subjects = map[string]contender{}
	targets, err := parseTargets(r.options.Targets)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	chosen, err := r.chosenSubjects()
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	if chosen, err = r.filterSubjects(ctx, chosen, r.canServe); err != nil {
		return err
	}
	if chosen, err = r.filterSubjects(ctx, chosen, r.buildSubject); err != nil {
		return err
	}
	for _, s := range chosen {
		r.addSubject(contender{Subject: s}, s.Describe())
		r.programs[s.Name] = s.Program()
	}
	for _, t := range targets {
		if _, twice := r.subjects[t.name]; twice {
			return fmt.Errorf("lab: two subjects have the name %s: rename one", t.name)
		}
		here := isLocalAddress(ctx, t.addr)
		r.addSubject(contender{Subject: &subject.Subject{Name: t.name, WarmMessages: 1000, OwnTLS: t.tls}, Target: t.addr, OnThisMachine: here},
			r.describeTarget(t, here))
	}
	switch {
	case len(r.subjects) > 0:
		return nil
	case len(r.results.Skipped) == 0:
		return fmt.Errorf("lab: %s: subjects: name at least one", r.experiment.Name)
	}
	return fmt.Errorf("lab: no subject can take part: %s", joinSkips(r.results.Skipped))
}

// describeTarget describes a server that already runs. An agent beside it measures its CPU.
func (r *Runner) describeTarget(t target, here bool) result.Subject {
	s := result.Subject{Name: t.name, Language: "?", Paradigm: "?", About: "Not started by the lab: its CPU is not measured.", Elsewhere: true, SameMachine: here}
	if slices.Contains(r.options.Agents.Beside, t.name) {
		s.About, s.Elsewhere, s.SameMachine, s.Beside = "Not started by the lab: an agent beside it measures its CPU.", false, false, true
	}
	return s
}

// target is a server that already runs.
type target struct {
	name, addr string
	tls        bool // it is at an https:// address
}

// parseTargets rejects malformed and repeated targets before anything is built; the generator would
// find them only in the middle of the run.
func parseTargets(texts []string) (all []target, err error) {
	for _, text := range texts {
		t := target{name: "target " + text, addr: text}
		if g := subject.ParseGiven(text); g.URL != "" {
			scheme, addr, _ := strings.Cut(g.URL, "://")
			t = target{g.Name, strings.TrimSuffix(addr, "/"), scheme == "https"}
			if strings.ContainsAny(t.addr, "/?#@") {
				return nil, fmt.Errorf("the target %s is not NAME=http://HOST:PORT or NAME=https://HOST:PORT: give paths with the load", g.Name)
			}
		}
		if err := load.CheckTarget(t.addr); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other target) bool { return other.addr == t.addr || other.name == t.name }) {
			return nil, fmt.Errorf("the target %s is given twice: name it once", text)
		}
		all = append(all, t)
	}
	return all, nil
}

func (r *Runner) addSubject(c contender, d result.Subject) {
	r.subjects[d.Name] = c
	r.results.Subjects = append(r.results.Subjects, d)
}

// filterSubjects returns the subjects for which check succeeds. A subject for which it fails is an
// error if it is required, and is skipped otherwise.
func (r *Runner) filterSubjects(ctx context.Context, all []*subject.Subject, can func(context.Context, *subject.Subject) error) (able []*subject.Subject, err error) {
	for _, s := range all {
		err := can(ctx, s)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			able = append(able, s)
		case r.required(s):
			return nil, fmt.Errorf("lab: the required subject %s cannot take part: %w", s.Name, err)
		default:
			r.skip(s.Name, err)
		}
	}
	return able, nil
}

// skip drops a subject of the experiment from the run, and reports it at once as progress, because
// the report comes much later.
func (r *Runner) skip(name string, why error) {
	reason, _, _ := strings.Cut(why.Error(), "\n") // the output of a compiler has many lines
	r.results.Skipped = append(r.results.Skipped, result.Skip{Subject: name, Reason: reason})
	r.progress(Progress{Phase: "leaving out", What: name + ": " + reason, CPU: -1})
}

// chosenSubjects returns the experiment's subjects and those of Options.SubjectFiles. A resumed run
// uses the subjects that it started with. Broken subjects that are not named do not matter.
func (r *Runner) chosenSubjects() ([]*subject.Subject, error) {
	names := slices.Clone(r.experiment.Subjects)
	if r.resumedFrom != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return !r.startedWith(name) })
	}
	names = r.withoutAbsent(names)
	more := slices.Clone(r.options.Subjects)
	for _, text := range r.options.SubjectCommands {
		s, err := subject.ParseGiven(text).Subject(r.options.Dir, r.experiment.Workload)
		if err != nil {
			return nil, err
		}
		more = append(more, s)
	}
	if len(names)+len(r.options.SubjectFiles) == 0 {
		return distinctNames(more) // Select would take an empty list for all subjects
	}
	chosen, err := subject.Select(r.options.Root, names, r.options.SubjectFiles)
	if err != nil {
		return nil, err
	}
	return distinctNames(append(chosen, more...))
}

// distinctNames returns an error if two subjects have one name.
func distinctNames(all []*subject.Subject) ([]*subject.Subject, error) {
	seen := map[string]bool{}
	for _, s := range all {
		if seen[s.Name] {
			return nil, fmt.Errorf("two subjects have the name %s: rename one", s.Name)
		}
		seen[s.Name] = true
	}
	return all, nil
}

// withoutAbsent removes the subjects of a built-in experiment that this checkout does not have, if
// it has others of them. In any other experiment an unknown name is taken for a typing error and
// kept.
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

// required reports whether the run must not start without s.
func (r *Runner) required(s *subject.Subject) bool {
	given := func(text string) bool { return subject.ParseGiven(text).Name == s.Name }
	return r.startedWith(s.Name) || slices.Contains(r.options.Required, s.Name) || slices.Contains(r.options.Subjects, s) || slices.ContainsFunc(r.options.SubjectCommands, given) ||
		slices.Contains(r.options.SubjectFiles, s.File) || slices.Contains(r.options.SubjectFiles, s.Dir)
}

// startedWith reports whether this is a resumed run in which the named subject takes part.
func (r *Runner) startedWith(name string) bool {
	return r.resumedFrom != nil && slices.Contains(subjectNames(r.resumedFrom.Results.Subjects), name)
}

// canServe returns the reason why a subject cannot take part, found before it is built.
func (r *Runner) canServe(_ context.Context, s *subject.Subject) error {
	if !s.Serves(r.experiment.Workload) {
		return fmt.Errorf("it does not serve the workload %s, only %s", r.experiment.Workload, strings.Join(s.Workloads, ", "))
	}
	if missing := s.Missing(); missing != "" {
		return errors.New(missing)
	}
	return nil
}

// buildSubject builds a subject. An error says why it cannot be built.
func (r *Runner) buildSubject(ctx context.Context, s *subject.Subject) error {
	if r.resumedFrom != nil && s.Binary != "" && s.Program() == r.resumedFrom.Programs[s.Name] {
		// a rebuilt program might differ, if only in embedded build times and paths
		return nil
	}
	r.progress(Progress{Phase: "building", What: s.Name, CPU: -1})
	if err := s.Build(ctx, io.Discard); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), s.Name+": "))
	}
	return nil
}

// restrictLoads adds the subjects that were given by a file to the loads for some subjects, and
// limits each load to the subjects that can meet it. If there are none, the phrase for them stands
// in messages.
func (r *Runner) restrictLoads() {
	for _, load := range r.experiment.Loads {
		l := load.Shared()
		if len(l.Subjects) > 0 {
			l.Subjects = append(l.Subjects, r.subjectsFromFiles(l.Subjects)...)
		}
		able, unable := []string{}, false
		for name, s := range r.subjects {
			if len(l.Subjects) > 0 && !slices.Contains(l.Subjects, name) {
				continue
			}
			if load.Meets(s.Subject, s.Target != "") {
				able = append(able, name)
			} else {
				unable = true
			}
		}
		if !unable {
			continue
		}
		if slices.Sort(able); len(able) == 0 {
			able = []string{load.Needs()}
		}
		l.Subjects = able
	}
}

// rejectIdle returns an error if a running server, or a subject that must take part, meets no load
// of a new run.
func (r *Runner) rejectIdle() error {
	if r.resumedFrom != nil {
		return nil
	}
	for _, known := range r.results.Subjects {
		s := r.subjects[known.Name]
		meets := func(l workload.Load) bool { return l.Meets(s.Subject, s.Target != "") }
		if (s.Target != "" || r.required(s.Subject)) && !slices.ContainsFunc(r.experiment.Loads, meets) {
			return fmt.Errorf("lab: %s cannot take part: the loads are for %s", known.Name, r.experiment.Loads[0].Needs())
		}
	}
	return nil
}

// subjectsFromFiles returns the subjects that were given by a file and are not in the list. A load
// for some of the experiment's own subjects also applies to these.
func (r *Runner) subjectsFromFiles(besides []string) (names []string) {
	for name, s := range r.subjects {
		// a folder stands for the subject.toml in it
		brought := slices.Contains(r.options.SubjectFiles, s.File) || slices.Contains(r.options.SubjectFiles, s.Dir)
		if brought && !slices.Contains(besides, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isLocalAddress reports whether the host of HOST:PORT is this machine. A host that cannot be
// resolved is not.
func isLocalAddress(ctx context.Context, addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ips, _ := net.DefaultResolver.LookupIPAddr(ctx, host)
	own, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(ips, func(ip net.IPAddr) bool {
		return ip.IP.IsLoopback() || ip.IP.IsUnspecified() || slices.ContainsFunc(own, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.Equal(ip.IP)
		})
	})
}

func joinSkips(all []result.Skip) string {
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

func baseName(name string) string { return strings.TrimSuffix(name, result.ControlSuffix) }
