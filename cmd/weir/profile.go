package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir/lab"
	"weir/lab/gate"
	"weir/lab/profile"
	"weir/lab/profile/page"
	"weir/lab/subject"
	"weir/lab/workload"
)

// profileCmd is "weir lab profile".
type profileCmd struct {
	A string `arg:"" predictor:"subjects" help:"A subject by name, or the path of a subject.toml."`
	B string `arg:"" predictor:"subjects" help:"The subject to compare with it."`

	Load        string        `predictor:"load" help:"The load: sink, echo, get, get-closed, page, page-closed, files, files-closed, chat, or a .toml file with one load (default: the first workload of A)." placeholder:"LOAD"`
	Connections int           `help:"Number of connections." placeholder:"N"`
	Rate        float64       `name:"rate-per-connection" help:"Messages per second on each connection." placeholder:"N"`
	Size        int           `help:"Bytes per message." placeholder:"N"`
	Duration    time.Duration `default:"5s" help:"Measured window of a trial."`
	Rounds      int           `default:"2" help:"Trials of each subject, in the order A B B A."`
	Frequency   int           `default:"4000" help:"Samples per second of each core."`

	Out        string `predictor:"folder" help:"Folder for profile.html and profile.json (default: runs/ and the time)." placeholder:"DIR"`
	JSON       bool   `help:"Print the table as JSON instead of text."`
	Rows       int    `default:"15" help:"Rows of the table to print."`
	ServerCPUs int    `name:"server-cpus" default:"1" help:"Cores for the subject."`
}

// Help is the long part of the command's help.
func (c *profileCmd) Help() string {
	return `Says why a message costs B another CPU time than A. Both run under the same load while the kernel's timer samples the call stacks of their whole process trees. The table has functions and system calls with their ns of CPU per message, those that surely differ most first; its rows add up to the total. profile.html has it with flame graphs of A, of B and of the difference, and needs no network.

It needs root or CAP_PERFMON, and no hardware counters. Names come from symbol tables, from Go's own function table, from the kernel, and from the perf maps of Node and the JVM. Notes below the table list what has no names. docs/why.md explains how to read it.

Examples:

  weir lab profile go-goroutine go-loop
  weir lab profile http-weir-loop http-nginx --load page --connections 64 --out why
  weir lab profile old/subject.toml new/subject.toml --load echo --rate-per-connection 1000`
}

// Run profiles both subjects, prints the table and writes the page.
func (c *profileCmd) Run(ctx context.Context, t *terminal) error {
	surviveTerminal(ctx)
	e, files, err := c.experiment()
	config := profile.Config{A: c.A, B: c.B, Frequency: c.Frequency, Rounds: c.Rounds}
	if err == nil {
		err = config.Validate()
	}
	if err != nil {
		return usageError{err}
	}
	if err := profile.Check(); err != nil {
		return err
	}
	discard, err := c.makeOut()
	if err != nil {
		return err
	}
	defer discard()
	temp, err := os.MkdirTemp("", "weir-profile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	view := newLiveView(t)
	defer view.close()
	runner, err := c.runner(ctx, e, files, temp, view.show)
	if err != nil {
		return err
	}
	d, err := profile.Run(ctx, runner, config)
	view.close()
	if err = errors.Join(err, runner.Close()); err != nil {
		return err
	}
	return c.write(t, d)
}

// makeOut makes the folder of the files, because a mistake in its name would be found after the
// trials only. discard removes it if it is new and has no file.
func (c *profileCmd) makeOut() (discard func(), err error) {
	c.Out = cmp.Or(c.Out, filepath.Join("runs", time.Now().Format("2006-01-02-150405")))
	_, err = os.Stat(c.Out)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return nil, fmt.Errorf("lab profile: cannot make the folder of the profile: %w: name another with --out", err)
	}
	return func() {
		if isNew {
			_ = os.Remove(c.Out) // fails if it has files
		}
	}, nil
}

// runner returns the Runner of the trials, whose files are in the folder temp.
func (c *profileCmd) runner(ctx context.Context, e *lab.Experiment, files []string, temp string, progress func(lab.Progress)) (*lab.Runner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return lab.NewRunner(ctx, e, lab.Options{
		Out: temp, Root: projectRoot(), Required: e.Subjects, SubjectFiles: files, Seed: 1, ServerCPUs: c.ServerCPUs,
		Generator: []string{self, "load"}, Weir: buildVersion(),
	}, progress)
}

// write writes the files, and prints the table, also if the files cannot be written.
func (c *profileCmd) write(t *terminal, d *profile.Difference) error {
	unwritten := page.Write(c.Out, d)
	if c.JSON {
		d.Tree = nil // it is in the file
		return errors.Join(unwritten, t.json(d))
	}
	return errors.Join(d.WriteText(t.out, c.Rows, t.width()), printPath(t, c.Out, unwritten))
}

// experiment returns the load with both subjects, and their subject.toml files. It replaces paths
// in c.A and c.B by names.
func (c *profileCmd) experiment() (e *lab.Experiment, files []string, err error) {
	load := cmp.Or(c.Load, gate.DefaultLoad(c.fileOf(c.A)), gate.DefaultLoad(c.fileOf(c.B)))
	if load == "" {
		return nil, nil, errors.New("lab profile: name the load: --load echo, for example")
	}
	if e, err = gate.ReadLoad(load); err != nil {
		return nil, nil, err
	}
	e.Subjects = nil // those of a file do not take part
	for _, name := range []*string{&c.A, &c.B} {
		if strings.HasSuffix(*name, ".toml") {
			s, err := subject.Read(*name)
			if err != nil {
				return nil, nil, err
			}
			files, *name = append(files, *name), s.Name
		} else {
			e.Subjects = append(e.Subjects, *name)
		}
	}
	none := false
	e.AAControl, e.Duration, e.Blocks = &none, workload.Duration(c.Duration), 1
	if c.Connections > 0 {
		e.Connections = []int{c.Connections}
	}
	return e, files, setLoads(e, loadFlag{"rate", c.Rate, c.Rate != 0}, loadFlag{"size", c.Size, c.Size != 0})
}

// fileOf returns the path of a subject's subject.toml.
func (c *profileCmd) fileOf(name string) string {
	if strings.HasSuffix(name, ".toml") {
		return name
	}
	return filepath.Join(projectRoot(), "subjects", name, "subject.toml")
}

// profiledRows is the number of rows that a run prints of a profile.
const profiledRows = 8

// refuseProfile is the error of --profile with anything but two names, or on a machine where call
// stacks cannot be sampled. The trials would come first, and take an hour.
func (c *runCmd) refuseProfile() error {
	switch n := len(c.Profile); {
	case n == 0:
		return nil
	case n != 2 || c.Profile[0] == c.Profile[1]:
		return usageError{errors.New("lab run: --profile takes two different subjects: --profile go-goroutine,go-loop")}
	}
	return profile.Check()
}

// checkProfile is the error of --profile with subjects that do not take part in the run together.
func (c *runCmd) checkProfile(r *lab.Runner) error {
	if _, ok := r.CommonCell(c.Profile...); len(c.Profile) == 0 || ok {
		return nil
	}
	return fmt.Errorf("lab run: --profile: no load of the run has both %s and %s: name two subjects that take part in it", c.Profile[0], c.Profile[1])
}

// explain profiles the subjects of --profile after a run with error failed; nil without that flag.
func (c *runCmd) explain(ctx context.Context, r *lab.Runner, failed error) (*profile.Difference, error) {
	if len(c.Profile) == 0 || failed != nil {
		return nil, nil
	}
	return profile.Run(ctx, r, profile.Config{A: c.Profile[0], B: c.Profile[1]})
}

// writeProfile writes the files of a run's profile, if there is one, and prints its first rows.
func (c *runCmd) writeProfile(t *terminal, dir string, d *profile.Difference) error {
	if d == nil {
		return nil
	}
	unwritten := page.Write(dir, d)
	if c.JSON {
		return unwritten
	}
	fmt.Fprintln(t.out)
	return errors.Join(d.WriteText(t.out, profiledRows, t.width()), printPath(t, dir, unwritten))
}

// printPath says where the page of a profile is, unless it is not written.
func printPath(t *terminal, dir string, unwritten error) error {
	if unwritten != nil {
		return unwritten
	}
	file, err := filepath.Abs(filepath.Join(dir, page.HTMLFile))
	fmt.Fprintf(t.out, "\nThe flame graphs: %s\n", file)
	return err
}
