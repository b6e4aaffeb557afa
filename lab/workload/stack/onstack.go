package stack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"weir/lab/internal/network"
	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/subject"
	"weir/lab/workload"
)

// started is what the start of a stack leaves: its network, its output, and its memory before any
// connection existed.
type started struct {
	network *network.Network
	output  *jsonLines
	barePSS int64 // bytes
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

// close removes the network. The stack must have ended.
func (o *started) close() error {
	if o.output != nil {
		o.output.close()
	}
	return o.network.Close()
}

// Start implements workload.Session. It starts a stack in a network of its own, and measures its
// memory before any connection exists.
func (v session) Start(ctx context.Context, sub *subject.Subject, l workload.Load) (r *workload.Running, err error) {
	o := &started{}
	if o.network, err = makeNetwork(sub); err != nil {
		return nil, err
	}
	r = &workload.Running{Subject: sub, Addr: o.network.Host(), Own: o, OwnsPacketThreads: true, Release: o.close}
	r.Collector = func(ctx context.Context) *result.RuntimeStats { return o.collectorReport(ctx, r.Process) }
	defer func() {
		if err != nil {
			bad, left := r.Stop()
			r, err = nil, errors.Join(workload.ContextError(ctx, err), bad, left)
		}
	}()
	cores := l.(*Load).Cores
	placement, load, shared, err := v.site.Placements(cores)
	if err != nil {
		return r, err
	}
	placement.Netns, load.Netns = o.network.Subject, o.network.Peer
	r.Load, r.SharedCores = load, shared
	if o.output, err = newJSONLines(); err != nil {
		return r, err
	}
	if r.Group, err = sample.NewGroup(sub.Name); err != nil {
		return r, err
	}
	return r, v.launch(ctx, r, o, cores, placement)
}

// launch starts the stack's process.
func (v session) launch(ctx context.Context, r *workload.Running, o *started, cores int, placement sample.Placement) (err error) {
	params := subject.Params{Host: r.Addr, Port: servicePort, Workload: v.site.Workload, Tap: o.network.Tap, Net: o.network.Addr.String(), Cores: cores}
	r.StartedAt = sample.Monotonic()
	r.Process, err = r.Subject.Start(ctx, r.Group, params, subject.Place{Stdout: o.output.writer, Sample: placement, Env: []string{workload.CollectorLog}, ReadyTimeout: v.site.ReadyTimeout})
	if err != nil {
		return err
	}
	census, err := r.Group.Census()
	o.barePSS, o.bareGC = census.PSS, r.RuntimeStats(ctx)
	return err
}

// servicePort is the port of the echo service, which every stack provides (RFC 862).
const servicePort = 7

// collectorReport requests a stack's report of its garbage collector by SIGUSR1. It is nil if the
// stack has no collector or does not answer within a second.
func (o *started) collectorReport(ctx context.Context, p *subject.Process) *result.RuntimeStats {
	if p == nil || !handlesSignal(p.PID(), syscall.SIGUSR1) {
		return nil
	}
	o.output.discardPending()
	if syscall.Kill(p.PID(), syscall.SIGUSR1) != nil {
		return nil
	}
	timeout := time.NewTimer(time.Second)
	defer timeout.Stop()
	select {
	case line := <-o.output.lines:
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
