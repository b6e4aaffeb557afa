// Package contract tests whether a server does the work that makes servers comparable.
//
// A comparison of two servers is about their concurrency models only if both do the same work. The
// contract defines that work by its effects. Every byte that a client sends is output once and in
// order (on standard output for the workload sink, on the connection for echo), however the
// messages are cut into writes. A half-close, a reset, a slow or a waiting connection does not
// affect other connections. SIGTERM loses no data that had arrived and leaves no process behind.
// Check runs the contract against any subject, over IPv4 and IPv6. A server that failed a check is
// not used for another, so that one failure does not cause the next.
//
// The proof is in the bytes. The high half of each byte is the number of its connection, of which
// there are sixteen. The low half follows a fixed sequence that never repeats within a check. Bytes
// that are lost, doubled, reordered, changed or on the wrong connection are therefore detected at
// the first of them, and the error says which fault it was and where.
//
// HTTP servers (the workloads page, files and proxy) have a contract of their own: the right bytes
// with the right length for every form of request, one response per request on persistent
// connections, and no client delays another, even with a request that sleeps.
//
// Chat servers (the workload chat) have one too: a message in a room is sent to all other members
// once and in order, whatever some of them do, and to no other client.
//
// TCP/IP stacks (the workload stack) are not servers: each gets a device and an address in a
// network namespace of its own, and the kernel on the other side connects to the services on the
// stack.
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

	"weir/internal/freeport"
	"weir/lab/internal/certificate"
	"weir/lab/internal/network"
	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/subject"
)

// Options select what to check. The zero value selects everything that applies to all servers.
type Options struct {
	Hosts []string // addresses to listen on; nil: 127.0.0.1 and ::1
	Only  []string // names of checks; nil: all
	// the program takes this project's flags: also check its answers to invalid ones
	OwnFlags bool
	Timeout  time.Duration // time limit for each reaction of a server; 0: 20 s
	Each     func(Outcome) // called after each check, from Check's goroutine; may be nil
}

// Outcome is the result of one check. It passed if Err is nil and Skipped is empty.
type Outcome struct {
	Name     string // "integrity", "reset", …
	Host     string // where the server listened
	Workload string // "sink", "echo", "page", "files", "proxy", "chat" or "stack"
	Err      error  // what was expected and what was seen
	Skipped  string // why it was not run
}

// HasOwnFlags reports whether a subject takes this project's flags, so that Options.OwnFlags may be
// set.
func HasOwnFlags(s *subject.Subject) bool {
	run := strings.Join(s.RunCmd, " ")
	if s.IsStack() {
		return strings.Contains(run, "--addr {net}")
	}
	return s.Contract != "published" && strings.Contains(run, "--listen {addr}") && strings.Contains(run, "--workload {workload}")
}

// check is one part of the contract.
type check struct {
	name     string
	workload string // the only workload it applies to; empty: each that the subject serves
	// placeholder that the run command must contain; without it the check is skipped
	needs  string
	params subject.Params // in addition to host, port and workload
	tls    bool           // with a certificate
	full   bool           // not for programs as published
	own    bool           // only for programs with this project's flags
	// a server that passes is unchanged, so that the next check with shares may use it too
	shares bool
	run    func(*bench) (verify, error)
	alone  func(*bench) error // instead of run: starts the program itself
}

// verify judges the server's standard output after its exit.
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

// Names lists the checks in the order in which they run: those of streams, then those of HTTP, chat
// and stacks that have other names.
func Names() []string {
	var names []string
	for _, c := range slices.Concat(checks, webChecks, chatChecks, stackChecks) {
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

// checksOf returns the checks for a kind of workload; some apply only to one of these.
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

func isWeb(workload string) bool { return result.IsHTTP(workload) }

// Check runs the contract against a subject that is built, one check after the other, and returns
// an outcome for each that applies. Some checks share a server as long as they pass; an error at
// its exit counts for the last of them. A server that cannot be started fails once per address and
// workload. If ctx ends, the current check fails and the others are omitted.
func Check(ctx context.Context, s *subject.Subject, o Options) []Outcome {
	if o.Hosts == nil {
		o.Hosts = []string{"127.0.0.1", "::1"}
	}
	if s.IsStack() {
		o.Hosts = []string{"a device of its own"}
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
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
	if reason := unavailable(s, host); reason != "" {
		report(Outcome{Name: "start", Skipped: reason})
		return all
	}
	due := slices.DeleteFunc(slices.Clone(checksOf(workload)), func(c check) bool { return !c.applies(s, o, workload) })
	for len(due) > 0 && ctx.Err() == nil {
		if reason := due[0].skipReason(s); reason != "" {
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

// sharing returns how many of the checks, from the first on, can use one server.
func sharing(due []check) int {
	n := 1
	for due[0].shares && n < len(due) && due[n].shares {
		n++
	}
	return n
}

// cannotListen returns why a server cannot listen at host: a server that is configured by its port
// only uses IPv4.
func cannotListen(s *subject.Subject, host string) string {
	command := strings.Join(append(slices.Collect(maps.Values(s.Env)), s.RunCmd...), " ")
	if strings.Contains(host, ":") && !strings.Contains(command, "{addr}") && !strings.Contains(command, "{host}") {
		return "its run command has neither {addr} nor {host} for " + host
	}
	return ""
}

func (c *check) applies(s *subject.Subject, o Options, workload string) bool {
	return (c.workload == "" || c.workload == workload) && (!c.own || o.OwnFlags) && (o.Only == nil || slices.Contains(o.Only, c.name))
}

// skipReason returns why a check that applies cannot be run on the subject; empty if it can.
func (c *check) skipReason(s *subject.Subject) string {
	if c.full && s.Contract == "published" {
		return "kept as it was published, without this"
	}
	if c.needs != "" && !strings.Contains(strings.Join(s.RunCmd, " "), c.needs) {
		return "its run command has no " + c.needs
	}
	return ""
}

// startError is the error of a server that did not become ready, so that no check can run.
type startError struct{ error }

// bench is one server under one check.
type bench struct {
	ctx       context.Context
	subject   *subject.Subject
	params    subject.Params
	timeout   time.Duration
	process   *subject.Process // nil in checks that start it themselves
	out       *os.File         // its standard output
	www       *www             // the files that an HTTP server serves; nil for others
	upstream  *upstream        // the server behind a proxy; nil for others
	network   *network.Network // the network of a TCP/IP stack; nil for servers
	stopped   bool             // stop was called
	namesUsed int              // number of nicks and rooms used with a chat server
}

// try runs the checks of a round with one server, up to the first that fails, and removes all
// traces of the server. It returns how many it ran, at least one. The error is the last one's: of
// the check, or of the server's exit.
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

// try runs one check with a server of its own.
func (c *check) try(ctx context.Context, s *subject.Subject, o Options, host, workload string) (err error) {
	dir, err := os.MkdirTemp("", "weir-contract-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bench{ctx: ctx, subject: s, params: c.params, timeout: o.Timeout}
	b.params.Host, b.params.Workload = host, workload
	if isWeb(workload) {
		if b.www, err = newWWW(dir); err != nil {
			return err
		}
		b.params.Www = b.www.dir
	}
	if workload == "proxy" {
		if b.upstream, err = startUpstream(b.www.dir); err != nil {
			return err
		}
		defer b.upstream.close()
		b.params.Upstream = b.upstream.addr
	}
	if c.tls {
		if err := b.addCertificate(dir); err != nil {
			return err
		}
	}
	leave, err := b.allocate()
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

// addCertificate makes a certificate for the server, in dir.
func (b *bench) addCertificate(dir string) error {
	files, err := certificate.Create(filepath.Join(dir, "tls"), b.params.Host)
	b.params.Cert, b.params.Key = files.Cert, files.Key
	return err
}

// portAttempts is how many ports are tried, because another program may take one between Choose
// and the server's start.
const portAttempts = 3

// start starts the server. The caller must call end, which stops and removes what is left of it.
func (b *bench) start() (end func(), err error) {
	group, err := sample.NewGroup(b.subject.Name)
	if err != nil {
		group = nil // without accounting, its process group shows what it leaves behind
	}
	place := subject.Place{Stdout: b.out}
	if b.network != nil {
		place.Sample.Netns = b.network.Subject
	}
	for range portAttempts {
		b.process, err = b.subject.Start(b.ctx, group, b.params, place)
		if !errors.Is(err, subject.ErrPortInUse) {
			break
		}
		if port, noPort := freeport.Choose(b.params.Host); noPort == nil {
			b.params.Port = port
		}
	}
	end = func() {
		if b.process != nil {
			_ = b.process.Stop() // checks that need the error have called it before
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

// serve starts the server, runs the check, stops the server and judges its output.
func (b *bench) serve(run func(*bench) (verify, error)) error {
	end, err := b.start()
	defer end()
	if err != nil {
		return err
	}
	judge, err := run(b)
	if early := b.earlyExit(err != nil); early != nil {
		return fmt.Errorf("the server exited early: %w", early)
	}
	if stopped := b.stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	return b.verifyOutput(judge)
}

// exitNotice is how long after its connections broke the exit of a server is awaited.
const exitNotice = 200 * time.Millisecond

// earlyExit returns how a server exited that was not stopped; nil while it runs.
func (b *bench) earlyExit(suspect bool) error {
	if b.stopped {
		return nil
	}
	if suspect {
		select {
		case <-b.process.Done():
		case <-time.After(exitNotice):
		}
	}
	return b.process.Err()
}

// verifyOutput applies verify to the whole output.
func (b *bench) verifyOutput(judge verify) error {
	output, err := b.output()
	if err != nil {
		return err
	}
	return judge(output)
}

// stop stops the server. Death by the signal is accepted; only the check of SIGTERM requires more.
func (b *bench) stop() error {
	b.stopped = true
	if err := b.process.Stop(); err != nil {
		return fmt.Errorf("after SIGTERM: %w", err)
	}
	return nil
}

// addr returns the server's address.
func (b *bench) addr() string {
	return net.JoinHostPort(b.params.Host, strconv.Itoa(b.params.Port))
}

func (b *bench) echoes() bool { return b.params.Workload == "echo" }
