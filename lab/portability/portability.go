// Package portability builds the C subjects with every compiler and for every machine at hand, and
// runs a short form of the contract on each.
//
// It answers what a C server's portability is worth, by trying: the subject's own build command,
// with the compiler replaced and flags added, must build it without a change to its sources, and
// the program must keep the parts of the contract that move bytes and end processes, over IPv4 and
// IPv6: parts names them, and "passed" says no more. What cannot be tried is named, with what is
// missing. Trying takes a second or two for each subject and target, so the findings are kept in
// build/portability.json until a source, a build command, a compiler or the machine changes.
//
// # Limitations
//
// A build command must begin with cc, gcc or clang. Other systems than this machine's are named as
// not tested: nothing is built for FreeBSD or macOS. Under qemu-user the program is the other
// machine's and the kernel is this one's. The key to the kept findings knows the files of a
// subject's folder and its sources, not the system's headers and libraries. Under musl a source
// finds musl's headers and no others: one that includes the kernel's own does not build there.
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

// parts are the checks of the contract that are made: those in which a compiler, a C library or a
// word size can make a difference.
var parts = []string{"integrity", "half-close", "reset", "SIGTERM while busy"}

// Options say how to run.
type Options struct {
	Fresh bool // try again even if nothing has changed
	// called for every finding, from the goroutine of Run; may be nil
	Each  func(result.Portability)
	Doing func(what string) // called before every trial that takes time; may be nil
}

// Run tries every C subject under root/subjects with every target, in the order of the targets, and
// keeps what it found. If nothing has changed since the last time, it returns what is kept. The
// error is about the subjects or the file, never about what was found; ctx's end is one, and then
// nothing is kept.
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
				p = try(ctx, s, t)
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

// Kept returns what the last Run under root found, and false if something has changed since then or
// there was none. It builds and runs nothing but compilers' --version.
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

// cSubjects are the subjects of C that are built here: a server that comes as a package is what it
// is.
func cSubjects(root string) ([]*subject.Subject, error) {
	all, err := subject.Discover(root)
	return slices.DeleteFunc(all, func(s *subject.Subject) bool { return s.Language != "C" || len(s.BuildCmd) == 0 }), err
}

// try builds a subject for a target and checks it.
func try(ctx context.Context, s *subject.Subject, t target) result.Portability {
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
	contract.Check(ctx, v, contract.Options{Only: parts, Patience: 30 * time.Second, Each: func(o contract.Outcome) {
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

// variant is a subject as a target builds and runs it.
func variant(s *subject.Subject, t target) *subject.Subject {
	v := *s
	v.Needs = nil // the target's own tools take the place of cc
	v.Out = filepath.Join(s.Root, "build", "portability", t.folder(), s.Name)
	v.BuildCmd = slices.Concat(t.compiler, s.BuildCmd[1:], t.after)
	v.RunCmd = slices.Concat(t.runner, s.RunCmd)
	return &v
}

// lacking names a library that a build command links with and that its output complains of: absent
// from the machine, it says nothing about the sources.
func lacking(build []string, output string) string {
	for _, word := range build {
		if library, ok := strings.CutPrefix(word, "-l"); ok &&
			(strings.Contains(output, "cannot find "+word) || strings.Contains(output, "lib"+library+".h: No such file")) {
			return library
		}
	}
	return ""
}

// buildNote is the line of a compiler's output that says what is wrong.
func buildNote(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for _, line := range lines {
		if strings.Contains(line, "error:") {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
