package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/shlex"

	"weir/lab/subject"
)

// Names of the subjects of a gate.
const (
	baseName = "base"
	headName = "head"
	// added to the name of a version that takes part again
	againSuffix = "-again"
)

// commandWarm is the shortest warm-up of a server that is given by its commands, in messages. Its
// rate is not known, so that more could take most of a trial.
const commandWarm = 100

// A Build is one version of the server.
type Build struct {
	Version Version `json:"version"`          // as the user wrote it
	Commit  string  `json:"commit,omitempty"` // full hash; empty for a folder

	subject *subject.Subject
}

// String is the version with its commit: "main (1f2e3d4c5b6a)".
func (b *Build) String() string {
	if b.Commit == "" || strings.HasPrefix(b.Commit, string(b.Version)) {
		return string(b.Version)
	}
	return fmt.Sprintf("%s (%s)", b.Version, b.Commit[:min(12, len(b.Commit))])
}

// build checks a version out, and builds its server.
func (c *Config) build(ctx context.Context, t *trees, v Version, name string) (*Build, error) {
	c.progress("checking out", string(v))
	source, err := t.get(ctx, v, name)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(t.temp, name+"-out")
	s, err := c.Program.subject(v, source, out, c.Load.Workload)
	if err != nil {
		return nil, err
	}
	s.Name, s.Temporary = name, source.top != ""
	separate(s, source, out)
	if missing := s.Missing(); missing != "" {
		return nil, fmt.Errorf("gate: %s cannot be built or run: %s", v, missing)
	}
	c.progress("building", string(v))
	if err := s.Build(ctx, nil); err != nil {
		return nil, fmt.Errorf("gate: %s: %w%s", v, err, source.submodules())
	}
	s.BuildCmd = nil // it is built
	return &Build{Version: v, Commit: source.commit, subject: s}, nil
}

// separate gives a version folders of its own. Two versions in one project would write their
// programs into the same folder, and the second would be measured as both.
func separate(s *subject.Subject, source tree, out string) {
	s.Out = out
	if within, err := filepath.Rel(source.top, s.Root); source.top != "" && (err != nil || !filepath.IsLocal(within)) {
		s.Root = s.Dir // a go.mod above the worktree is of another project
	}
}

// subject returns the subject of a version in its tree. out is the folder {out} of commands.
func (p Program) subject(v Version, source tree, out, workload string) (*subject.Subject, error) {
	switch {
	case v.isSubject():
		return readSubject(string(v))
	case p.Subject != "":
		return p.inTree(v, source)
	case p.Run != "":
		return p.fromCommands(source, out, workload)
	}
	if _, err := os.Stat(filepath.Join(source.dir, "subject.toml")); err == nil {
		return readSubject(filepath.Join(source.dir, "subject.toml"))
	}
	return nil, fmt.Errorf("gate: it is not known how %s is run: give a subject.toml with --subject, or a command with --run", v)
}

// inTree reads the subject.toml of a version, by its path within each version.
func (p Program) inTree(v Version, source tree) (*subject.Subject, error) {
	if filepath.IsAbs(p.Subject) {
		return nil, fmt.Errorf("gate: %s is an absolute path, and each version has its own: give the path within the version", p.Subject)
	}
	if !filepath.IsLocal(p.Subject) {
		return nil, fmt.Errorf("gate: %s is outside of the version, and would be the same file for both: give the path within the version", p.Subject)
	}
	file := filepath.Join(source.dir, p.Subject)
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, "subject.toml")
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("gate: %s has no %s: name a subject.toml that both versions have, or give the commands with --build and --run", v, p.Subject)
	}
	return readSubject(file)
}

func readSubject(file string) (*subject.Subject, error) {
	s, err := subject.Read(file)
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	return s, nil
}

// fromCommands returns the subject of the build and run commands in a tree. If the run command
// starts with a path, that file is the binary.
func (p Program) fromCommands(source tree, out, workload string) (*subject.Subject, error) {
	words, err := shlex.Split(p.Run)
	if err != nil || len(words) == 0 {
		return nil, fmt.Errorf("gate: the run command %q has no words, or an open quote", p.Run)
	}
	c := subject.Commands{Dir: source.dir, Out: out, Run: words, Workloads: []string{workload}}
	if p.Build != "" {
		c.Build = []string{"sh", "-c", p.Build}
	}
	s, err := subject.FromCommands(headName, c)
	if err != nil {
		return nil, fmt.Errorf("gate: the command of %w", err)
	}
	s.WarmMessages = commandWarm
	if strings.Contains(words[0], "/") {
		s.Binary = words[0]
	}
	return s, os.MkdirAll(out, 0o755)
}

// subjectsOf returns the subjects of the trials. Each version takes part twice, so that both have
// the same noise whatever its distribution is.
func subjectsOf(versions ...*Build) []*subject.Subject {
	var all []*subject.Subject
	for _, b := range versions {
		if b != nil {
			again := *b.subject
			again.Name += againSuffix
			all = append(all, b.subject, &again)
		}
	}
	return all
}
