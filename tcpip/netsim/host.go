package netsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"weir/tcpip"
	"weir/tcpip/fabric"
)

// HostConfig configures a host. The zero value of a field means its default.
type HostConfig struct {
	Addrs []netip.Prefix // its addresses. Default: the next free ones
	MTU   int            // of its interface, in bytes. Default 1,500
	// how long Disk.Sync takes: a crash may fall into it. Default 1 ms; negative: no time
	SyncDelay time.Duration
	// changes the configuration of its stack, at each start; nil: it stays
	Configure func(*tcpip.Config)
}

// Host is a host of a world. It has the functions of package net: Listen, Dial and their like.
//
// A host runs from its start to a crash, and then from restart to crash. The Host that World.Host
// returns stands for whatever runs now; the Host that a program of Start gets stands for the run
// that has started it. After a crash, everything by that one fails with ErrCrashed, so that what is
// left of the program reaches no other host.
type Host struct {
	m    *machine
	boot *boot // nil: the current one
}

// ErrCrashed is the error of a Host whose run has ended.
var ErrCrashed = errors.New("netsim: the host has crashed")

// machine is what the runs of a host have in common.
type machine struct {
	w     *World
	node  *fabric.Node
	addrs []netip.Prefix
	cfg   HostConfig
	disk  *diskState

	mu       sync.Mutex
	current  *boot // nil while it is down
	programs []func(*Host) error
	clock    clock
}

// boot is one run of a host.
type boot struct {
	stack  *tcpip.Stack
	ctx    context.Context // cancelled by a crash, and at the end of the world
	cancel context.CancelFunc
}

// Host adds a host. Its name is resolved by all hosts.
func (w *World) Host(name string) *Host { return w.HostWith(name, HostConfig{}) }

// HostWith adds a host with a configuration.
func (w *World) HostWith(name string, c HostConfig) *Host {
	w.Helper()
	node, err := w.net.HostWith(name, fabric.HostConfig{Addrs: c.Addrs, MTU: c.MTU})
	return w.newHost(node, c, err)
}

func (w *World) newHost(node *fabric.Node, c HostConfig, err error) *Host {
	w.Helper()
	if err == nil {
		err = w.nameTaken(node.Name())
	}
	if err != nil {
		w.Fatal(err)
	}
	addrs := node.Prefixes()
	if len(c.Addrs) == 0 && !w.isDualStack() {
		addrs = addrs[:1] // that of IPv4
	}
	m := &machine{w: w, node: node, addrs: addrs, cfg: c, disk: newDisk(), clock: clock{since: time.Now()}}
	if err := m.start(); err != nil {
		w.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts = append(w.hosts, m)
	w.names[canonical(node.Name())] = m
	return &Host{m: m}
}

// start starts a run of the host.
func (m *machine) start() error {
	c := tcpip.Config{Link: m.node.Attach(), Addrs: m.addrs, Routes: m.node.Routes(), Lookup: m.w.lookup}
	if m.cfg.Configure != nil {
		m.cfg.Configure(&c)
	}
	stack, err := tcpip.New(c)
	if err != nil {
		return fmt.Errorf("netsim: starting %s: %w", m.node.Name(), err)
	}
	b := &boot{stack: stack}
	b.ctx, b.cancel = context.WithCancel(m.w.ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = b
	for _, p := range m.programs {
		m.runLocked(b, p)
	}
	return nil
}

// runLocked starts a program.
func (m *machine) runLocked(b *boot, program func(*Host) error) {
	h := &Host{m: m, boot: b}
	go func() { // until the program returns, which it must when its context is cancelled
		defer m.w.catch("the program of " + m.node.Name())
		if err := program(h); err != nil && b.ctx.Err() == nil {
			m.w.note(failedEntry, "the program of %s has ended: %v", m.node.Name(), err)
		}
	}()
}

// Start runs a program on the host, in a goroutine of its own: now, and again at each Restart. The
// program must return when its host's Context is cancelled. An error that it returns before is a
// failure of the world; nil is not.
func (h *Host) Start(program func(h *Host) error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.m.programs = append(h.m.programs, program)
	if h.m.current != nil {
		h.m.runLocked(h.m.current, program)
	}
}

// Crash stops the host as a power failure does: its network vanishes without a FIN, its context is
// cancelled, what its disk had not synced is lost.
func (h *Host) Crash() { h.m.crash(h.m.w.caller()) }

// crash reports whether the host was running. where is the file and line of the cause.
func (m *machine) crash(where string) bool {
	b := m.takeDown()
	if b == nil {
		return false
	}
	m.w.noteState(where, m.node.Name(), downHost, "crash")
	m.node.Detach()
	m.disk.crash()
	b.cancel()
	b.stack.Close() //nolint:errcheck // nothing of it reaches the network
	return true
}

func (m *machine) takeDown() *boot {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.current
	m.current = nil
	return b
}

// Restart starts a host again that has crashed, with its disk and its programs. One that runs
// crashes first.
func (h *Host) Restart() {
	where := h.m.w.caller()
	h.m.crash(where)
	h.m.restart(where)
}

// restart starts a host that is down.
func (m *machine) restart(where string) {
	m.w.noteState(where, m.node.Name(), runningHost, "restart")
	if err := m.start(); err != nil {
		m.w.Error(err)
	}
}

func (m *machine) isDown() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current == nil
}

// Pause stops the host's network, as in a virtual machine that is paused: up to 1,024 packets to
// and from it wait until Resume. Its programs and timers go on, since a world has one clock.
func (h *Host) Pause() { h.m.pause(h.m.w.caller()) }

func (m *machine) pause(where string) {
	m.w.noteState(where, m.node.Name(), pausedHost, "pause")
	m.node.Pause()
}

// Resume continues after Pause.
func (h *Host) Resume() { h.m.resume(h.m.w.caller()) }

func (m *machine) resume(where string) {
	m.w.noteState(where, m.node.Name(), runningHost, "resume")
	m.node.Resume()
}

// shutDown ends the host at the end of the world, in order: with the connections that are left
// reset.
func (m *machine) shutDown() {
	b := m.takeDown()
	if b == nil {
		return
	}
	b.cancel()
	b.stack.Close() //nolint:errcheck // the world is over
}

// running returns the run that the Host stands for.
func (h *Host) running() (*boot, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	b := h.m.current
	if b == nil || h.boot != nil && h.boot != b {
		return nil, ErrCrashed
	}
	return b, nil
}

// Name returns the host's name.
func (h *Host) Name() string { return h.m.node.Name() }

// Addr returns the host's first address.
func (h *Host) Addr() netip.Addr { return h.m.addrs[0].Addr() }

// Context is cancelled when the run of the host ends that h stands for.
func (h *Host) Context() context.Context {
	if h.boot != nil {
		return h.boot.ctx
	}
	b, err := h.running()
	if err != nil {
		over, cancel := context.WithCancel(h.m.w.ctx)
		cancel()
		return over
	}
	return b.ctx
}

// Stack returns the host's TCP/IP stack, for what Host itself does not have; nil after a crash.
func (h *Host) Stack() *tcpip.Stack {
	b, err := h.running()
	if err != nil {
		return nil
	}
	return b.stack
}

// Listen is net.Listen on the host.
func (h *Host) Listen(network, address string) (net.Listener, error) {
	b, err := h.running()
	if err != nil {
		return nil, err
	}
	return b.stack.Listen(network, address)
}

// ListenPacket is net.ListenPacket on the host.
func (h *Host) ListenPacket(network, address string) (net.PacketConn, error) {
	b, err := h.running()
	if err != nil {
		return nil, err
	}
	return b.stack.ListenPacket(network, address)
}

// Dial is net.Dial on the host. The address may have the name of a host. Like net.Dial it tries for
// minutes if no answer comes: DialContext ends earlier.
func (h *Host) Dial(network, address string) (net.Conn, error) {
	return h.DialContext(context.Background(), network, address)
}

// DialContext is net.Dialer.DialContext on the host. The address may have the name of a host. If
// that host or this one has no link, the error says so at once.
func (h *Host) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	b, err := h.running()
	if err != nil {
		return nil, err
	}
	if err := h.m.reachable(network, address); err != nil {
		return nil, err
	}
	return b.stack.DialContext(ctx, network, address)
}
