package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// change appends lines to the subject.toml of server-N.
func (b *bench) change(n string, lines string) {
	b.t.Helper()
	file := b.file(n)
	text, err := os.ReadFile(file)
	must(b.t, err)
	must(b.t, os.WriteFile(file, append(text, lines...), 0o644))
}

func (b *bench) file(n string) string {
	return filepath.Join(b.options.Root, "subjects", "server-"+n, "subject.toml")
}

// prepare creates a runner, closes it, and returns the progress messages.
func (b *bench) prepare(ctx context.Context) (*Runner, []string, error) {
	b.t.Helper()
	var said []string
	r, err := NewRunner(ctx, b.experiment, b.options, func(p Progress) { said = append(said, p.Phase+" "+p.What) })
	if err == nil {
		must(b.t, r.Close())
	}
	return r, said, err
}

func TestRequiredSubjectMustTakePart(t *testing.T) {
	const absent, failing = "needs = [\"no-such-tool-of-weir\"]\n", "build = [\"sh\", \"-c\", \"echo one; echo two; exit 1\"]\n"
	for _, c := range []struct{ name, lines, want, skipped string }{
		{"its tool is missing", absent, "server-1 cannot take part: no-such-tool-of-weir is not on PATH: install it", "server-1: no-such-tool-of-weir is not on PATH: install it"},
		{"its build fails", failing, "two", "server-1: build failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 0, 0)
			b.change("1", c.lines)
			b.options.Required = []string{"server-1"}
			if _, _, err := b.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("by name: got error %v, want one with %q", err, c.want)
			}
			b.options.Required, b.options.SubjectFiles = nil, []string{b.file("1")}
			if _, _, err := b.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("by file: got error %v, want one with %q", err, c.want)
			}
			b.options.SubjectFiles = []string{filepath.Dir(b.file("1"))}
			if _, _, err := b.prepare(t.Context()); err == nil {
				t.Error("by folder: got no error, want one")
			}
			b.options.SubjectFiles = nil
			r, said, err := b.prepare(t.Context())
			must(t, err)
			if len(r.subjects) != 1 || len(r.results.Skipped) != 1 || strings.Contains(r.results.Skipped[0].Reason, "\n") {
				t.Errorf("the experiment's own subjects: got %d in the run and %+v skipped, want 1 and 1 with a reason of one line", len(r.subjects), r.results.Skipped)
			}
			if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "leaving out "+c.skipped) }) {
				t.Errorf("got progress %q, want the subject to be left out", said)
			}
		})
	}
}

func TestInterruptedBuildDoesNotSkipTheSubject(t *testing.T) {
	b := newBench(t, 0, 0)
	b.change("1", "build = [\"sleep\", \"600\"]\n")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	_, err := NewRunner(ctx, b.experiment, b.options, func(p Progress) {
		if p.Phase == "building" && p.What == "server-1" {
			interrupt()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled", err)
	}
	if _, err := os.Stat(b.options.Out); !os.IsNotExist(err) {
		t.Errorf("the directory of a run that did not start: got error %v for it, want it removed", err)
	}
}

func TestUnusableDirectoryIsReportedBeforeBuilding(t *testing.T) {
	b := newBench(t, 0)
	must(t, os.WriteFile(b.options.Out, nil, 0o644))
	if _, said, err := b.prepare(t.Context()); err == nil || len(said) > 0 {
		t.Errorf("got error %v after progress %q, want one about the directory before any build", err, said)
	}
}

func TestBrokenSubjectOutsideTheRunIsIgnored(t *testing.T) {
	b := newBench(t, 0, 0)
	must(t, os.WriteFile(b.file("1"), []byte("nothing"), 0o644))
	b.experiment.Subjects = []string{"server-0"}
	_, _, err := b.prepare(t.Context())
	must(t, err)
	b.experiment.Subjects, b.options.Out = []string{"server-1"}, b.options.Out+"2"
	if _, _, err := b.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "server-1/subject.toml:1") {
		t.Errorf("by name: got error %v, want one with file and line", err)
	}
}

// TestMissingSubjectIsLeftOutOfBuiltInExperimentsOnly: a missing subject is left out of a built-in
// experiment, and is an error in any other.
func TestMissingSubjectIsLeftOutOfBuiltInExperimentsOnly(t *testing.T) {
	b := newBench(t, 0)
	b.experiment.Subjects = []string{"server-0", "server-9"}
	b.experiment.BuiltIn = true
	r, said, err := b.prepare(t.Context())
	must(t, err)
	if !slices.Equal(r.plan.Subjects, []string{"server-0"}) || !slices.Contains(said, "leaving out server-9: this checkout has no such subject") {
		t.Errorf("got subjects %v with progress %q, want only server-0 and that server-9 is left out", r.plan.Subjects, said)
	}
	b.options.Out += "2"
	b.options.Required = []string{"server-9"}
	if _, _, err := b.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), `no subject "server-9"`) {
		t.Errorf("a missing subject required by name: got error %v, want one that names server-9", err)
	}
	b.experiment.BuiltIn, b.options.Required = false, nil
	if _, _, err := b.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), `no subject "server-9"`) {
		t.Errorf("a missing subject in an experiment's file: got error %v, want one that names server-9", err)
	}
}

func TestProjectSubjectCanBeGivenByFile(t *testing.T) {
	b := newBench(t, 0, 0)
	b.experiment.Subjects = []string{"server-0"}
	b.options.SubjectFiles = []string{b.file("0"), b.file("1")}
	r, _, err := b.prepare(t.Context())
	must(t, err)
	if !slices.Equal(r.plan.Subjects, []string{"server-0", "server-1"}) {
		t.Errorf("got subjects %v, want each once", r.plan.Subjects)
	}
}

func TestTargetsAreCheckedBeforeAnythingIsBuilt(t *testing.T) {
	for _, c := range []struct {
		targets []string
		want    string
	}{
		{[]string{"127.0.0.1"}, `"127.0.0.1" is not HOST:PORT`},
		{[]string{"127.0.0.1:7", "127.0.0.1:7"}, "127.0.0.1:7 is given twice"},
	} {
		b := newBench(t)
		b.options.Targets = c.targets
		if _, err := b.run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("targets %q: got error %v, want one with %q", c.targets, err, c.want)
		}
	}
}

// TestATargetWithTheNameOfASubjectIsRefused: the trials of both would be those of one name.
func TestATargetWithTheNameOfASubjectIsRefused(t *testing.T) {
	b := newBench(t, 0, 0)
	b.options.Targets = []string{"server-1=http://127.0.0.1:80"}
	if _, _, err := b.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "two subjects have the name server-1") {
		t.Errorf("got error %v, want that the name is given twice", err)
	}
}
