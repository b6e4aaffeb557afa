package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"weir/lab/internal/network"
	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/subject"
	"weir/lab/workload/stack/stackload"
)

// onStack is the part of a running TCP/IP stack that a server does not have: a network created for
// one trial, and the reports on its standard output.
type onStack struct {
	network *network.Network
	output  *jsonLines
	barePSS int64 // PSS in bytes before any connection existed
	bareGC  *result.RuntimeStats
}

// networks counts the networks that this process has created, because each needs a unique name.
var networks atomic.Int64

// makeNetwork creates the network for a stack under test.
func makeNetwork(s *subject.Subject) (*network.Network, error) {
	name := fmt.Sprintf("weir%d-%d", os.Getpid(), networks.Add(1))
	n, err := network.New(s.Network, name)
	if err != nil {
		return nil, fmt.Errorf("lab: cannot make a network for %s, which needs Linux, root and /dev/net/tun: %w", s.Name, err)
	}
	// A client port can be reused only a minute after its connection (TIME-WAIT), or earlier with
	// tcp_tw_reuse. Without it the number of ports, not the stack, limits the connection rate.
	for _, set := range [][2]string{{"ip_local_port_range", "1024 65535"}, {"tcp_tw_reuse", "1"}} {
		if err := n.Set(set[0], set[1]); err != nil {
			return nil, errors.Join(fmt.Errorf("lab: %w", err), n.Close())
		}
	}
	// in ms; without this setting the delay is 1 s, and the generator's report has a note if that
	// is too long
	n.Set("tcp_tw_reuse_delay", "10") //nolint:errcheck
	return n, nil
}

// prepareStacks checks, before anything is built, that networks can be created for the trials. It
// lets both ends use all cores.
func (r *Runner) prepareStacks() (err error) {
	if len(r.options.Targets) > 0 || r.options.Namespace {
		return errors.New("lab: a TCP/IP stack runs on a device that the lab makes for each trial: leave --target and --namespace out")
	}
	if r.site.server, r.site.load, r.site.sharedCores, err = r.site.placements(0); err != nil {
		return err
	}
	n, err := makeNetwork(&subject.Subject{Name: "a stack", Network: "tap"})
	if err != nil {
		return err
	}
	return n.Close()
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

// addSubjectsFromFiles adds the subjects that were given by a file to the loads for some subjects.
func (r *Runner) addSubjectsFromFiles() {
	for i := range r.experiment.Loads {
		if l := &r.experiment.Loads[i]; len(l.Subjects) > 0 {
			l.Subjects = append(l.Subjects, r.subjectsFromFiles(l.Subjects)...)
		}
	}
}

// restrictLoads removes subjects from loads that they cannot meet: inside loads if they have no
// inside command, pings if they have IPv6, and pings by processes if this machine has no ping
// command.
func (r *Runner) restrictLoads() {
	for i := range r.experiment.Loads {
		l := &r.experiment.Loads[i]
		if l.Processes {
			if _, err := exec.LookPath("ping"); err != nil {
				l.Subjects = []string{"a machine with the command ping (iputils-ping)"}
			}
		}
		switch {
		case l.Inside:
			r.restrictLoad(l, "stacks with an inside command", func(s *subject.Subject) bool { return len(s.InsideCmd) > 0 })
		case l.Operation == stackload.Ping && r.hasIPv6():
			r.restrictLoad(l, "stacks with IPv4", func(s *subject.Subject) bool { return !s.HasIPv6() })
		}
	}
}

// hasIPv6 reports whether a subject is measured over IPv6.
func (r *Runner) hasIPv6() bool {
	for _, s := range r.subjects {
		if s.HasIPv6() {
			return true
		}
	}
	return false
}

// restrictLoad leaves those subjects in a load that can meet it. If there are none, none
// stands for them in messages.
func (r *Runner) restrictLoad(l *Load, none string, can func(*subject.Subject) bool) {
	able := []string{}
	for name, s := range r.subjects {
		if can(s.Subject) && (len(l.Subjects) == 0 || slices.Contains(l.Subjects, name)) {
			able = append(able, name)
		}
	}
	if slices.Sort(able); len(able) == 0 {
		able = []string{none}
	}
	l.Subjects = able
}

// close removes the network. The stack must have ended.
func (o *onStack) close() error {
	if o.network == nil {
		return nil
	}
	if o.output != nil {
		o.output.close()
	}
	return o.network.Close()
}

// startStack starts a stack in a network of its own, and measures its memory before any connection
// exists.
func (r *Runner) startStack(ctx context.Context, sub *subject.Subject, l Load) (s *running, err error) {
	s = &running{subject: sub}
	if s.network, err = makeNetwork(sub); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(contextError(ctx, err), s.abandon())
		}
	}()
	placement, load, shared, err := r.site.placements(l.Cores)
	if err != nil {
		return nil, err
	}
	placement.Netns, load.Netns = s.network.Subject, s.network.Peer
	s.load, s.sharedCores, s.addr = load, shared, s.network.Host()
	if s.output, err = newJSONLines(); err != nil {
		return nil, err
	}
	if s.group, err = sample.NewGroup(sub.Name); err != nil {
		return nil, err
	}
	params := subject.Params{Host: s.addr, Port: servicePort, Workload: r.experiment.Workload, Tap: s.network.Tap, Net: s.network.Addr.String(), Cores: l.Cores}
	s.startedAt = sample.Monotonic()
	s.process, err = sub.Start(ctx, s.group, params, subject.Place{Stdout: s.output.writer, Sample: placement, Env: []string{"GODEBUG=gctrace=1"}, ReadyTimeout: r.readyTimeout})
	if err != nil {
		return nil, err
	}
	census, err := s.group.Census()
	s.barePSS, s.bareGC = census.PSS, s.collectorReport(ctx)
	return s, err
}

// servicePort is the port of the echo service, which every stack provides (RFC 862).
const servicePort = 7

// abandon stops and removes the parts of a stack that failed to start.
func (s *running) abandon() error {
	var errs []error
	if s.process != nil {
		errs = append(errs, s.process.Stop())
	}
	if s.group != nil {
		errs = append(errs, s.group.Close())
	}
	return errors.Join(append(errs, s.onStack.close())...)
}

// collectorReport requests a stack's report of its garbage collector by SIGUSR1. It is nil if the
// stack has no collector or does not answer within a second.
func (s *running) collectorReport(ctx context.Context) *result.RuntimeStats {
	if s.output == nil || s.process == nil || !handlesSignal(s.process.PID(), syscall.SIGUSR1) {
		return nil
	}
	s.output.discardPending()
	if syscall.Kill(s.process.PID(), syscall.SIGUSR1) != nil {
		return nil
	}
	timeout := time.NewTimer(time.Second)
	defer timeout.Stop()
	select {
	case line := <-s.output.lines:
		var c result.RuntimeStats
		if json.Unmarshal([]byte(line), &c) == nil {
			return &c
		}
	case <-timeout.C:
	case <-ctx.Done():
	}
	return nil
}

// handlesSignal reports whether a process has a handler for a signal. A process without one would
// be killed by it.
func handlesSignal(pid int, signal syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(status), "\nSigCgt:")
	mask, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && bits&(1<<(signal-1)) != 0
}

// jsonLines reads the lines of JSON that a stack prints. A goroutine reads them until close.
type jsonLines struct {
	writer *os.File // write end: the stack's standard output
	reader *os.File
	lines  chan string // the goroutine -> collectorReport; capacity 1, further lines are dropped
	ended  chan struct{}
}

func newJSONLines() (*jsonLines, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	s := &jsonLines{writer: to, reader: from, lines: make(chan string, 1), ended: make(chan struct{})}
	go s.read()
	return s, nil
}

func (s *jsonLines) read() {
	defer close(s.ended)
	for lines := bufio.NewScanner(s.reader); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "{") {
			continue
		}
		select {
		case s.lines <- lines.Text():
		default:
		}
	}
}

// discardPending drops a line that was received before the request.
func (s *jsonLines) discardPending() {
	select {
	case <-s.lines:
	default:
	}
}

// close must be called after the stack has ended, when no process writes any more.
func (s *jsonLines) close() {
	s.writer.Close()
	<-s.ended
	s.reader.Close()
}
