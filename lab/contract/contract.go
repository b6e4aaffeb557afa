// Package contract tests whether a server does the work that makes servers comparable.
//
// A comparison of two servers says something about their paradigms only if both do the same work.
// The contract is that work, seen from outside: every byte that a client sends comes out once and
// in order (on standard output for the workload sink, on the connection for echo), however the
// messages are cut; a half-close, a reset, a slow or a waiting connection touches nobody else;
// SIGTERM loses nothing that had arrived and leaves no process behind. Check runs it against any
// subject, over IPv4 and IPv6; no check uses a server after one that failed, so that one failure
// does not lead to the next.
//
// The bytes prove it. The high half of each byte is the number of its connection, of which there
// are sixteen; the low half follows a fixed sequence that never repeats within a check, so that
// bytes which are lost, doubled, out of order, changed or in the wrong connection show at the first
// of them, and the error says which of these it was and where.
//
// HTTP servers (the workloads page and files) have a contract of their own: the right bytes under
// the right length for every way to ask, one response for each request on connections that stay
// open, and nothing that one client does, not even a request that sleeps, in the way of another.
//
// Chat servers (the workload chat) have theirs too: what a member of a room says is told to all
// others once and in order, whatever some of them do, and to nobody else.
//
// TCP/IP stacks (the workload stack) are no servers: each is given a device and an address in a
// network namespace of its own, and the kernel on the other side talks to the services that stand
// on it.
//
// Programs that are kept as they were published (contract = "published") are checked for what they
// promise: five connections of printable bytes, the escapes of Go's %q undone, and no care for
// SIGTERM or their children.
//
// # Limitations
//
// A server that fails only now and then can pass. Nothing here measures: a slow server passes as
// long as it answers within Options.Patience.
package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/lab/internal/network"
	"weir/lab/sample"
	"weir/lab/subject"
)

// Options say what to check. The zero value is everything that every server can be asked for.
type Options struct {
	Hosts []string // addresses to listen at; nil: 127.0.0.1 and ::1
	Only  []string // names of checks; nil: all
	// the program takes this project's flags: also check what it answers to bad ones
	Own      bool
	Patience time.Duration // for a server to do something; 0: 20 s
	Each     func(Outcome) // called after each check, from the goroutine of Check; may be nil
}

// Outcome is what one check found. It passed if Err is nil and Skipped empty.
type Outcome struct {
	Name     string // "integrity", "reset", …
	Host     string // where the server listened
	Workload string // "sink", "echo", "page", "files", "chat" or "stack"
	Err      error  // what was expected and what was seen
	Skipped  string // why it was not tried
}

// Own says whether a subject takes this project's flags, so that Options.Own fits it.
func Own(s *subject.Subject) bool {
	run := strings.Join(s.RunCmd, " ")
	if s.IsStack() {
		return strings.Contains(run, "--addr {net}")
	}
	return s.Contract != "published" && strings.Contains(run, "--listen {addr}") && strings.Contains(run, "--workload {workload}")
}

// check is one part of the contract.
type check struct {
	name     string
	workload string // the only one it is for; empty: each that the subject serves
	// a placeholder that the run command must have; the check cannot be made without
	needs  string
	params subject.Params // beside host, port and workload
	full   bool           // not for programs as published
	own    bool           // only for programs with this project's flags
	// leaves a server that passed as it was: the next that shares may use the same
	shares bool
	run    func(*bench) (verify, error)
	alone  func(*bench) error // in place of run: starts the program by itself
}

// verify judges what the server wrote to standard output, after its end.
type verify func(output []byte) error

var checks = []check{
	{name: "integrity", run: integrity},
	{name: "half-close", run: halfClose},
	{name: "single bytes", run: singleBytes},
	{name: "reset", run: reset},
	{name: "200 connections", run: manyConnections},
	{name: "slow reader", workload: "echo", run: slowReader},
	{name: "work", needs: "{work_us}", full: true, params: subject.Params{Size: 100, WorkUS: workUS}, run: work},
	{name: "waiting", needs: "{wait_ms}", full: true, params: subject.Params{Size: 100, WaitMS: waitMS}, run: waiting},
	{name: "SIGTERM while busy", full: true, params: subject.Params{Size: 1000, WorkUS: 200}, run: terminate},
	{name: "SIGTERM while waiting", needs: "{wait_ms}", full: true, params: subject.Params{Size: 2000, WaitMS: 5000}, run: terminate},
	{name: "SIGINT", full: true, own: true, alone: interrupt},
	{name: "bad flags", full: true, own: true, alone: badFlags},
	{name: "port in use", full: true, own: true, alone: portInUse},
}

// Names lists the checks in the order in which they run: those of streams, then those of HTTP, of
// chat and of stacks that have other names.
func Names() []string {
	var names []string
	for _, c := range slices.Concat(checks, webChecks, chatChecks, stackChecks) {
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

// checksOf are the checks for a workload, among them some that are for another one only.
func checksOf(workload string) []check {
	switch {
	case isWeb(workload):
		return webChecks
	case isChat(workload):
		return chatChecks
	case workload == "stack":
		return stackChecks
	}
	return checks
}

func isWeb(workload string) bool { return workload == "page" || workload == "files" }

// Check runs the contract against a subject that is built, one check after the other, and returns
// an outcome for each that applies. Some share a server as long as they pass; what is wrong with
// its end counts for the last of them. A server that cannot be started at all fails once for each
// address and workload. When ctx ends, the check at hand fails and the rest is left out.
func Check(ctx context.Context, s *subject.Subject, o Options) []Outcome {
	if o.Hosts == nil {
		o.Hosts = []string{"127.0.0.1", "::1"}
	}
	if s.IsStack() {
		o.Hosts = []string{"a device of its own"}
	}
	if o.Patience == 0 {
		o.Patience = 20 * time.Second
	}
	var all []Outcome
	for _, host := range o.Hosts {
		for _, workload := range s.Workloads {
			all = append(all, checkAt(ctx, s, o, host, workload)...)
		}
	}
	return all
}

// checkAt runs the contract at one address with one workload.
func checkAt(ctx context.Context, s *subject.Subject, o Options, host, workload string) (all []Outcome) {
	report := func(found Outcome) {
		found.Host, found.Workload = host, workload
		all = append(all, found)
		if o.Each != nil {
			o.Each(found)
		}
	}
	if reason := nowhere(s, host); reason != "" {
		report(Outcome{Name: "start", Skipped: reason})
		return all
	}
	due := slices.DeleteFunc(slices.Clone(checksOf(workload)), func(c check) bool { return !c.applies(s, o, workload) })
	for len(due) > 0 && ctx.Err() == nil {
		if reason := due[0].excused(s); reason != "" {
			report(Outcome{Name: due[0].name, Skipped: reason})
			due = due[1:]
			continue
		}
		round := due[:sharing(due)]
		made, err := try(ctx, s, o, host, workload, round)
		if errors.As(err, new(startError)) {
			report(Outcome{Name: "start", Err: err})
			break
		}
		for _, c := range round[:made-1] {
			report(Outcome{Name: c.name})
		}
		report(Outcome{Name: round[made-1].name, Err: err})
		due = due[made:]
	}
	return all
}

// sharing is how many of the checks, from the first on, one server is enough for. Those that share
// can be asked of all.
func sharing(due []check) int {
	n := 1
	for due[0].shares && n < len(due) && due[n].shares {
		n++
	}
	return n
}

// deafTo says why a server cannot be asked to listen at host: it is told a port only, and serves
// IPv4 then.
func deafTo(s *subject.Subject, host string) string {
	told := strings.Join(append(slices.Collect(maps.Values(s.Env)), s.RunCmd...), " ")
	if strings.Contains(host, ":") && !strings.Contains(told, "{addr}") && !strings.Contains(told, "{host}") {
		return "its run command has neither {addr} nor {host} to be told " + host
	}
	return ""
}

func (c *check) applies(s *subject.Subject, o Options, workload string) bool {
	return (c.workload == "" || c.workload == workload) && (!c.own || o.Own) && (o.Only == nil || slices.Contains(o.Only, c.name))
}

// excused says why a check that applies cannot be asked of the subject.
func (c *check) excused(s *subject.Subject) string {
	if c.full && s.Contract == "published" {
		return "kept as it was published, without this"
	}
	if c.needs != "" && !strings.Contains(strings.Join(s.RunCmd, " "), c.needs) {
		return "its run command has no " + c.needs
	}
	return ""
}

// startError is a server that never got ready, which no check can do anything about.
type startError struct{ error }

// bench is one server under one check.
type bench struct {
	ctx      context.Context
	subject  *subject.Subject
	params   subject.Params
	patience time.Duration
	process  *subject.Process // nil in checks that start it themselves
	out      *os.File         // its standard output
	www      *www             // what an HTTP server serves; nil for others
	network  *network.Network // that a TCP/IP stack is in; nil for servers
	stopped  bool             // stop was called
	named    int              // nicks and rooms that a chat server was told
}

// try makes the checks of a round with one server, of which nothing is left afterwards, up to the
// first that fails. It says how many it made, at least one. The error is the last one's: of the
// check, or of the server's end.
func try(ctx context.Context, s *subject.Subject, o Options, host, workload string, round []check) (made int, err error) {
	whole := round[0]
	if whole.run != nil {
		whole.run = func(b *bench) (judge verify, err error) {
			for ; made < len(round) && err == nil; made++ {
				judge, err = round[made].run(b)
			}
			return judge, err
		}
	}
	err = whole.try(ctx, s, o, host, workload)
	return max(made, 1), err
}

// try makes one check with a server of its own.
func (c *check) try(ctx context.Context, s *subject.Subject, o Options, host, workload string) (err error) {
	dir, err := os.MkdirTemp("", "weir-contract-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bench{ctx: ctx, subject: s, params: c.params, patience: o.Patience}
	b.params.Host, b.params.Workload = host, workload
	if isWeb(workload) {
		if b.www, err = newWWW(dir); err != nil {
			return err
		}
		b.params.Www = b.www.dir
	}
	leave, err := b.seat()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	if b.out, err = os.OpenFile(filepath.Join(dir, "output"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	defer b.out.Close()
	if c.alone != nil {
		return c.alone(b)
	}
	return b.serve(c.run)
}

// ports is how many ports are tried: between FreePort and the server's start another program may
// take one.
const ports = 3

// start starts the server; end, which the caller must call, takes away what may be left of it.
func (b *bench) start() (end func(), err error) {
	group, err := sample.NewGroup(b.subject.Name)
	if err != nil {
		group = nil // without accounting, its process group tells what it leaves behind
	}
	place := subject.Place{Stdout: b.out}
	if b.network != nil {
		place.Sample.Netns = b.network.Subject
	}
	for range ports {
		b.process, err = b.subject.Start(b.ctx, group, b.params, place)
		if !errors.Is(err, subject.ErrPortInUse) {
			break
		}
		if port, noPort := subject.FreePort(b.params.Host); noPort == nil {
			b.params.Port = port
		}
	}
	end = func() {
		if b.process != nil {
			_ = b.process.Stop() // a check that minds the error has called it before
		}
		if group != nil {
			_ = group.Close()
		}
	}
	if err != nil {
		err = startError{err}
	}
	return end, err
}

// serve starts the server, lets run talk to it, stops it and judges its output.
func (b *bench) serve(run func(*bench) (verify, error)) error {
	end, err := b.start()
	defer end()
	if err != nil {
		return err
	}
	judge, err := run(b)
	if early := b.died(err != nil); early != nil {
		return fmt.Errorf("the server did not live: %w", early)
	}
	if stopped := b.stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	return b.judged(judge)
}

// aMoment is how long the end of a server may take to be noticed after its connections have broken.
const aMoment = 200 * time.Millisecond

// died says how a server ended that nobody stopped; nil for one that lives.
func (b *bench) died(suspect bool) error {
	if b.stopped {
		return nil
	}
	if suspect {
		select {
		case <-b.process.Done():
		case <-time.After(aMoment):
		}
	}
	return b.process.Err()
}

// judged applies a judgement to the whole output.
func (b *bench) judged(judge verify) error {
	output, err := b.output()
	if err != nil {
		return err
	}
	return judge(output)
}

// stop ends the server, which may be by the signal itself: only the check of SIGTERM asks for more.
func (b *bench) stop() error {
	b.stopped = true
	if err := b.process.Stop(); err != nil {
		return fmt.Errorf("after SIGTERM: %w", err)
	}
	return nil
}

// addr is where the server listens.
func (b *bench) addr() string {
	return net.JoinHostPort(b.params.Host, strconv.Itoa(b.params.Port))
}

func (b *bench) echoes() bool { return b.params.Workload == "echo" }
