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
)

// onStack is what a running TCP/IP stack has beside a server: a network that is made for one trial,
// and what it says on standard output.
type onStack struct {
	network *network.Network
	said    *sayings
	barePSS int64 // bytes, before there was any connection
	bare    *result.Collected
}

// networks counts those that this process has made: each has a name of its own.
var networks atomic.Int64

// makeNetwork makes the network that the stack is for.
func makeNetwork(s *subject.Subject) (*network.Network, error) {
	name := fmt.Sprintf("weir%d-%d", os.Getpid(), networks.Add(1))
	kind := network.Tap
	if s.Network == "veth" {
		kind = network.Cable
	}
	n, err := kind(name)
	if err != nil {
		return nil, fmt.Errorf("lab: cannot make a network for %s, which needs Linux, root and /dev/net/tun: %w", s.Name, err)
	}
	// A client's port is free a minute after its connection, or earlier where that is allowed:
	// without it ports, not stacks, bound what is connected.
	for _, set := range [][2]string{{"ip_local_port_range", "1024 65535"}, {"tcp_tw_reuse", "1"}} {
		if err := n.Set(set[0], set[1]); err != nil {
			return nil, errors.Join(fmt.Errorf("lab: %w", err), n.Close())
		}
	}
	n.Set("tcp_tw_reuse_delay", "10") //nolint:errcheck // ms; a kernel without it has a second, and the generator's report a note where that is too long
	return n, nil
}

// prepareStacks finds out before anything is built whether there can be networks for the trials,
// and gives both ends all cores.
func (r *Runner) prepareStacks() (err error) {
	if len(r.options.Targets) > 0 || r.options.Namespace {
		return errors.New("lab: a TCP/IP stack runs on a device that the lab makes for each trial: leave --target and --namespace out")
	}
	if r.site.server, r.site.load, r.site.shared, err = r.site.places(0); err != nil {
		return err
	}
	n, err := makeNetwork(&subject.Subject{Name: "a stack"})
	if err != nil {
		return err
	}
	return n.Close()
}

// guests are the subjects that somebody brought by a file and that are not in the list: a load that
// is for some of an experiment's own is for them too.
func (r *Runner) guests(besides []string) (names []string) {
	for name, s := range r.subjects {
		// a folder stands for the file in it
		brought := slices.Contains(r.options.SubjectFiles, s.File) || slices.Contains(r.options.SubjectFiles, s.Dir)
		if brought && !slices.Contains(besides, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// onlyWithInside leaves subjects out of the loads that they cannot meet: those inside, where they
// have none; pings by processes, where there is no ping.
func (r *Runner) onlyWithInside() {
	for i := range r.experiment.Loads {
		l := &r.experiment.Loads[i]
		if l.Processes {
			if _, err := exec.LookPath("ping"); err != nil {
				l.Subjects = []string{"a machine with the command ping (iputils-ping)"}
			}
		}
		if len(l.Subjects) > 0 {
			l.Subjects = append(l.Subjects, r.guests(l.Subjects)...)
		}
		if !l.Inside {
			continue
		}
		able := []string{}
		for name, s := range r.subjects {
			if len(s.InsideCmd) > 0 && (len(l.Subjects) == 0 || slices.Contains(l.Subjects, name)) {
				able = append(able, name)
			}
		}
		if slices.Sort(able); len(able) == 0 {
			able = []string{"stacks with an inside"}
		}
		l.Subjects = able
	}
}

// close takes the network away, after the stack has ended.
func (o *onStack) close() error {
	if o.network == nil {
		return nil
	}
	if o.said != nil {
		o.said.close()
	}
	return o.network.Close()
}

// startStack starts a stack in a network of its own, and looks at its memory before there is any
// connection.
func (r *Runner) startStack(ctx context.Context, sub *subject.Subject, l Load) (s *running, err error) {
	s = &running{subject: sub}
	if s.network, err = makeNetwork(sub); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(interrupted(ctx, err), s.abandon())
		}
	}()
	place, load, shared, err := r.site.places(l.Cores)
	if err != nil {
		return nil, err
	}
	place.Netns, load.Netns = s.network.Subject, s.network.Peer
	s.load, s.shared, s.addr = load, shared, s.network.Host()
	if s.said, err = newSayings(); err != nil {
		return nil, err
	}
	if s.group, err = sample.NewGroup(sub.Name); err != nil {
		return nil, err
	}
	params := subject.Params{Host: s.addr, Port: servicePort, Workload: r.experiment.Workload, Tap: s.network.Tap, Net: s.network.Addr.String(), Cores: l.Cores}
	s.began = sample.Monotonic()
	s.process, err = sub.Start(ctx, s.group, params, subject.Place{Stdout: s.said.to, Sample: place, Env: []string{"GODEBUG=gctrace=1"}, Within: r.readyWithin})
	if err != nil {
		return nil, err
	}
	census, err := s.group.Census()
	s.barePSS, s.bare = census.PSS, s.collected(ctx)
	return s, err
}

// servicePort is that of the echo service, which every stack has.
const servicePort = 7

// abandon takes away what there is of a stack that did not start.
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

// collected asks a stack what its collector has done; nil where it has none, or does not say.
func (s *running) collected(ctx context.Context) *result.Collected {
	if s.said == nil || s.process == nil || !handles(s.process.PID(), syscall.SIGUSR1) {
		return nil
	}
	s.said.forget()
	if syscall.Kill(s.process.PID(), syscall.SIGUSR1) != nil {
		return nil
	}
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	select {
	case line := <-s.said.lines:
		var c result.Collected
		if json.Unmarshal([]byte(line), &c) == nil {
			return &c
		}
	case <-patience.C:
	case <-ctx.Done():
	}
	return nil
}

// handles says whether a process has a handler of a signal: others would end by it.
func handles(pid int, signal syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(status), "\nSigCgt:")
	mask, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && bits&(1<<(signal-1)) != 0
}

// sayings are the lines of JSON that a stack prints. A goroutine reads them until close.
type sayings struct {
	to    *os.File // the stack's standard output
	from  *os.File
	lines chan string // the goroutine -> collected; room for one, others are dropped
	ended chan struct{}
}

func newSayings() (*sayings, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	s := &sayings{to: to, from: from, lines: make(chan string, 1), ended: make(chan struct{})}
	go s.read()
	return s, nil
}

func (s *sayings) read() {
	defer close(s.ended)
	for lines := bufio.NewScanner(s.from); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "{") {
			continue
		}
		select {
		case s.lines <- lines.Text():
		default:
		}
	}
}

// forget drops what came before it is asked.
func (s *sayings) forget() {
	select {
	case <-s.lines:
	default:
	}
}

// close is called when nobody writes any more.
func (s *sayings) close() {
	s.to.Close()
	<-s.ended
	s.from.Close()
}
