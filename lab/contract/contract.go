// Package contract tests whether a server does the work that makes servers comparable.
//
// A comparison of two servers is about their concurrency models only if both do the same work. The
// contract of a workload defines that work by its effects. This package runs the checks of a
// contract: it starts the subject, lets checks share a server, stops it, judges its output and
// reports each outcome. The checks themselves, with their clients, are a Kind, in the folder of
// their workload: weir/lab/workload/stream, http, chat and stack.
//
// Run runs the contract against any subject, over IPv4 and IPv6. A server that failed a check is
// not used for another, so that one failure does not cause the next.
//
// Programs in the form in which they were published (contract = "published") are checked for what
// they provide: five connections of printable bytes, with the escapes of Go's %q undone. SIGTERM
// and their children are not checked.
//
// # Limitations
//
// A server that fails only sometimes can pass. Nothing is measured: a slow server passes if it
// answers within Options.Timeout.
package contract

import (
	"slices"
	"strings"
	"time"

	"weir/lab/subject"
)

// Kind is the contract of the servers of some workloads. It does not change once it is passed to
// Run.
type Kind struct {
	Workloads []string // that it is for, such as "page" and "files"
	Checks    []Check  // in the order in which they run
	// Prepare is called before each start of a server. It may set Bench.Params and Bench.State.
	// nil: nothing is prepared.
	Prepare func(*Bench)
	// Output judges the standard output of a server after its exit, unless the check sets
	// Bench.Output; nil: every output is correct.
	Output func(output []byte) error
	// OwnFlags are parts of the run command of every program that takes this project's flags.
	OwnFlags []string
	// Port is where a subject with a network of its own listens, 1 to 65535. Other subjects listen
	// on a free port.
	Port int
}

// Check is one part of a contract.
type Check struct {
	Name     string // unique within its Kind
	Workload string // the only workload that it applies to; empty: each of its Kind
	// placeholder that the run command must contain; without it the check is skipped
	Needs  string
	Params subject.Params // in addition to host, port and workload
	Full   bool           // not for programs as published
	Own    bool           // only for programs with this project's flags
	// a server that passes is unchanged, so that the next check with Shares may use it too
	Shares   bool
	NoServer bool         // Run starts the program itself
	Prepare  func(*Bench) // called after the Kind's Prepare; may be nil
	Run      func(*Bench) // ends by Must or Failf if it fails
}

// On returns the Run of a check that works on the Bench.State of its Kind.
func On[S any](check func(*S)) func(*Bench) {
	return func(b *Bench) { check(b.State.(*S)) }
}

// Options select what to check. The zero value selects everything that applies.
type Options struct {
	Hosts   []string      // addresses to listen on; nil: 127.0.0.1 and ::1
	Only    []string      // names of checks; nil: all
	Timeout time.Duration // time limit for each reaction of a server; 0: 20 s
	Each    func(Outcome) // called after each check, from Run's goroutine; may be nil
}

// Outcome is the result of one check. It passed if Err is nil and Skipped is empty.
type Outcome struct {
	Name     string // "integrity", "reset", …; "start" if the server could not be started
	Host     string // where the server listened
	Workload string // one of the subject's
	Err      error  // what was expected and what was seen
	Skipped  string // why it was not run
}

// Names lists the names of the checks of these kinds in their order, each once.
func Names(kinds []Kind) (names []string) {
	for _, k := range kinds {
		for _, c := range k.Checks {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// hasOwnFlags reports whether a subject takes this project's flags.
func (k *Kind) hasOwnFlags(s *subject.Subject) bool {
	run := strings.Join(s.RunCmd, " ")
	return s.Contract != "published" && !slices.ContainsFunc(k.OwnFlags, func(part string) bool { return !strings.Contains(run, part) })
}

// due returns the checks that apply to a workload of a subject.
func (k *Kind) due(s *subject.Subject, o Options, workload string) []Check {
	return slices.DeleteFunc(slices.Clone(k.Checks), func(c Check) bool {
		return c.Workload != "" && c.Workload != workload || c.Own && !k.hasOwnFlags(s) || o.Only != nil && !slices.Contains(o.Only, c.Name)
	})
}

// skipReason returns why a check that applies cannot be run on the subject; empty if it can.
func (c *Check) skipReason(s *subject.Subject) string {
	if c.Full && s.Contract == "published" {
		return "kept as it was published, without this"
	}
	if c.Needs != "" && !strings.Contains(strings.Join(s.RunCmd, " "), c.Needs) {
		return "its run command has no " + c.Needs
	}
	return ""
}
