package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir/tcpip"
	"weir/tcpip/fabric"
	"weir/tcpip/nat"
	"weir/tcpip/program"
)

// cluster is a run.
type cluster struct {
	f     *File
	cfg   Config
	net   *fabric.Network
	nodes map[string]*fabric.Node
	hosts nat.Config // its Hosts are the names

	stacks   []*tcpip.Stack
	programs map[string]*program.Program
	output   sync.WaitGroup // of the goroutines that pass output on

	mu     sync.Mutex
	status int // of the first program that is no service and has failed
}

// Run runs the programs until all that are no services have ended, or until ctx ends, and returns
// the status of the first of them that failed; 0: none did.
func (f *File) Run(ctx context.Context, c Config) (status int, err error) {
	r := &cluster{f: f, cfg: c, net: fabric.New(fabric.Config{Seed: f.Seed}), nodes: map[string]*fabric.Node{}, programs: map[string]*program.Program{}}
	defer r.close()
	if err := r.build(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var services, others sync.WaitGroup
	for _, name := range slices.Sorted(maps.Keys(f.Hosts)) {
		if err := r.start(name, &services, &others); err != nil {
			r.killAll()
			return 0, fmt.Errorf("host %s: %w", name, err)
		}
	}
	var faults sync.WaitGroup
	faults.Go(func() { r.injectFaults(ctx) }) // until ctx ends
	r.await(ctx, &services, &others)
	cancel()
	faults.Wait()
	r.output.Wait()
	return r.status, nil
}

// build makes the network.
func (r *cluster) build() error {
	r.hosts.Hosts = map[string][]netip.Addr{}
	for _, name := range slices.Sorted(maps.Keys(r.f.Hosts)) {
		n, err := r.net.Host(name)
		if err != nil {
			return err
		}
		r.nodes[name] = n
		for _, p := range n.Prefixes() {
			key := strings.ToLower(name)
			r.hosts.Hosts[key] = append(r.hosts.Hosts[key], p.Addr())
		}
	}
	for _, name := range r.f.Routers {
		n, err := r.net.Router(name)
		if err != nil {
			return err
		}
		r.nodes[name] = n
	}
	if len(r.f.Links) == 0 {
		return r.joinAll()
	}
	for _, l := range r.f.Links {
		text := l.Path
		if text == "" {
			text = r.f.Path
		}
		p, err := pathOf(text, l.MTU)
		if err == nil {
			_, err = r.net.Connect(r.nodes[l.Between[0]], r.nodes[l.Between[1]], p, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// joinAll joins all hosts by a switch.
func (r *cluster) joinAll() error {
	p, err := pathOf(r.f.Path, 0)
	if err != nil {
		return err
	}
	s, err := r.net.Switch("a switch of all hosts")
	for _, name := range slices.Sorted(maps.Keys(r.f.Hosts)) {
		if err == nil {
			_, err = r.net.Connect(r.nodes[name], s, p, p)
		}
	}
	return err
}

// start starts the program of a host on a stack of its own.
func (r *cluster) start(name string, services, others *sync.WaitGroup) error {
	node, h := r.nodes[name], r.f.Hosts[name]
	s, err := tcpip.New(tcpip.Config{Link: node.Attach(), Addrs: node.Prefixes(), Routes: node.Routes()})
	if err != nil {
		return err
	}
	r.stacks = append(r.stacks, s)
	if err := r.serveNames(s); err != nil {
		return err
	}
	in, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := r.outputOf(name)
	if err != nil {
		return err
	}
	defer out.Close()
	p, err := program.Start(program.Config{Stack: s, Command: h.Command, Self: r.cfg.Self, Files: [3]*os.File{in, out, out}, NameServer: nameServer,
		Refused: func(line string) { r.line(name, "weir: "+line) }})
	if err != nil {
		return err
	}
	r.programs[name] = p
	of := others
	if h.Service {
		of = services
	}
	of.Go(func() { r.waitFor(name, p, h.Service) }) // until the program has ended
	return nil
}

// waitFor waits for the end of a program and notes its status.
func (r *cluster) waitFor(name string, p *program.Program, service bool) {
	status, err := p.Wait()
	if err != nil {
		r.line(name, "weir: "+err.Error())
		status = 1
	}
	if status == 0 || service {
		return
	}
	r.line(name, fmt.Sprintf("weir: the program has ended with status %d", status))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		r.status = status
	}
}

func (r *cluster) line(host, text string) { r.cfg.Line(host + " | " + text) }

// nameServer is where queries of the programs go: a socket of each host's own stack.
var nameServer = netip.MustParseAddrPort("127.0.0.1:53")

// serveNames answers queries for the names of the hosts until the stack is closed.
func (r *cluster) serveNames(s *tcpip.Stack) error {
	c, err := s.ListenPacket("udp4", nameServer.String())
	if err != nil {
		return err
	}
	r.output.Go(func() { // until the stack is closed
		for b := make([]byte, 1500); ; {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				if errors.Is(err, net.ErrClosed) {
					return
				}
				continue
			}
			if answer := r.hosts.AnswerHosts(b[:n]); answer != nil {
				c.WriteTo(answer, from) //nolint:errcheck // the program asks again
			}
		}
	})
	return nil
}

// stopTimeout is how long services may take to end after SIGTERM.
const stopTimeout = 5 * time.Second

// await waits until the programs that are no services have ended, or ctx has, and ends the rest.
func (r *cluster) await(ctx context.Context, services, others *sync.WaitGroup) {
	ended := make(chan struct{}) // the programs -> await; closed once
	go func() {                  // until all programs have ended, which await sees to
		defer close(ended)
		others.Wait()
	}()
	if r.onlyServices() {
		<-ctx.Done()
	} else {
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
	for _, p := range r.programs {
		p.Signal(syscall.SIGTERM) //nolint:errcheck // it has ended
	}
	kill := time.AfterFunc(stopTimeout, r.killAll)
	defer kill.Stop()
	services.Wait()
	<-ended
	if r.cfg.EndOrphans != nil {
		r.cfg.EndOrphans()
	}
	for _, s := range r.stacks {
		s.Close() //nolint:errcheck // all programs have ended
	}
}

func (r *cluster) onlyServices() bool {
	for _, h := range r.f.Hosts {
		if !h.Service {
			return false
		}
	}
	return true
}

func (r *cluster) killAll() {
	for _, p := range r.programs {
		p.Kill() //nolint:errcheck // it has ended
	}
}

func (r *cluster) close() {
	for _, s := range r.stacks {
		s.Close() //nolint:errcheck // it may be closed
	}
	r.net.Close()
}
