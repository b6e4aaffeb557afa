// Package portability builds the C subjects with every compiler and for every machine that is
// available, and runs a short form of the contract on each.
//
// It measures the portability of a C server by trying. The subject's own build command, with the
// compiler replaced and flags added, must build it from unchanged sources. The program must then
// pass the parts of the contract that move bytes and stop processes, over IPv4 and IPv6. The
// variable parts lists them; "passed" covers no others. A target that cannot be tried is listed
// with what is missing. A trial takes a second or two per subject and target. The findings are
// therefore stored in build/portability.json until a source, a build command, a compiler or the
// machine changes.
//
// # Limitations
//
// A build command must start with cc, gcc or clang. Other operating systems are listed as not
// tested: nothing is built for FreeBSD or macOS. Under qemu-user the program is the other
// machine's, and the kernel is this one's. The key of the stored findings covers the files of a
// subject's folder and its sources, not the system's headers and libraries. With musl a source
// finds only musl's headers: one that includes the kernel's does not build.
package portability

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/lab/contract"
	"weir/lab/result"
	"weir/lab/subject"
)

// parts are the checks of the contract that are run: those in which the compiler, the C library or
// the word size can make a difference.
var parts = []string{"integrity", "half-close", "reset", "SIGTERM while busy"}

// Options configure Run.
type Options struct {
	Kinds []contract.Kind // the contracts of the workloads that C subjects have
	Fresh bool            // try again even if nothing has changed
	// called for every finding, from Run's goroutine; may be nil
	Each  func(result.Portability)
	Doing func(what string) // called before every trial that takes long; may be nil
}

// Run tries every C subject under root/subjects with every target, in the order of the targets, and
// stores the findings. If nothing has changed since the last run, it returns the stored findings.
// An error is about the subjects or the file, never about a finding. If ctx ends, Run returns its
// error and stores nothing.
func Run(ctx context.Context, root string, o Options) ([]result.Portability, error) {
	subjects, broken := cSubjects(root)
	all := targets()
	key := contentKey(subjects, all)
	if kept, ok := load(root, key); ok && !o.Fresh {
		for _, p := range kept {
			o.each(p)
		}
		return kept, broken
	}
	var found []result.Portability
	for _, t := range all {
		reason := t.unusable(ctx)
		for _, s := range subjects {
			if ctx.Err() != nil {
				return found, ctx.Err()
			}
			p := result.Portability{Subject: s.Name, Target: t.name, Note: reason}
			if reason == "" {
				o.doing(s.Name + " with " + t.name)
				p = try(ctx, s, t, o.Kinds)
			}
			o.each(p)
			found = append(found, p)
		}
	}
	if ctx.Err() != nil || broken != nil {
		return found, firstOf(ctx.Err(), broken)
	}
	return found, save(root, key, found)
}

// Kept returns the findings of the last Run under root. It returns false if there are none or
// something has changed since. It builds nothing, and runs only the compilers' --version.
func Kept(root string) ([]result.Portability, bool) {
	subjects, err := cSubjects(root)
	if err != nil {
		return nil, false
	}
	return load(root, contentKey(subjects, targets()))
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (o Options) each(p result.Portability) {
	if o.Each != nil {
		o.Each(p)
	}
}

func (o Options) doing(what string) {
	if o.Doing != nil {
		o.Doing(what)
	}
}

// cSubjects returns the C subjects that are built from source. A server from a package cannot be
// rebuilt.
func cSubjects(root string) ([]*subject.Subject, error) {
	all, err := subject.Discover(root)
	return slices.DeleteFunc(all, func(s *subject.Subject) bool { return s.Language != "C" || len(s.BuildCmd) == 0 }), err
}

// try builds a subject for a target and checks it.
func try(ctx context.Context, s *subject.Subject, t target, kinds []contract.Kind) result.Portability {
	p := result.Portability{Subject: s.Name, Target: t.name}
	if len(s.BuildCmd) == 0 || !slices.Contains([]string{"cc", "gcc", "clang"}, s.BuildCmd[0]) {
		p.Note = "not tested: its build command does not begin with cc, gcc or clang"
		return p
	}
	v := variant(s, t)
	if missing := v.Missing(); missing != "" {
		p.Note = "not tested: " + missing
		return p
	}
	if err := v.Build(ctx, nil); err != nil {
		p.Note = buildNote(err)
		if library := lacking(v.BuildCmd, err.Error()); library != "" {
			p.Note = fmt.Sprintf("not tested: needs lib%s, which is not installed for this target", library)
		}
		return p
	}
	p.Built = true
	var failures []string
	contract.Run(ctx, v, kinds, contract.Options{Only: parts, Timeout: 30 * time.Second, Each: func(o contract.Outcome) {
		if o.Err != nil {
			failures = append(failures, fmt.Sprintf("%s (%s, %s): %v", o.Name, o.Workload, o.Host, o.Err))
		}
	}})
	p.Passed = len(failures) == 0
	if !p.Passed {
		p.Note = failures[0]
		if more := len(failures) - 1; more > 0 {
			p.Note += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return p
}

// variant returns the subject as a target builds and runs it.
func variant(s *subject.Subject, t target) *subject.Subject {
	v := *s
	v.Needs = nil // the target's tools replace cc
	v.Out = filepath.Join(s.Root, "build", "portability", t.folder(), s.Name)
	v.BuildCmd = slices.Concat(t.compiler, s.BuildCmd[1:], t.extraFlags)
	v.RunCmd = slices.Concat(t.runner, s.RunCmd)
	return &v
}

// lacking returns the library that a build command links with and that is reported missing in its
// output. A missing library is no fault of the sources.
func lacking(build []string, output string) string {
	for _, word := range build {
		if library, ok := strings.CutPrefix(word, "-l"); ok &&
			(strings.Contains(output, "cannot find "+word) || strings.Contains(output, "lib"+library+".h: No such file")) {
			return library
		}
	}
	return ""
}

// buildNote returns the line of a compiler's output with the error.
func buildNote(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for _, line := range lines {
		if strings.Contains(line, "error:") {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
