package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"weir/serve"
	"weir/tcpip"
	"weir/tcpip/dhcp"
	"weir/tcpip/ip"
	"weir/tcpip/link"
)

// ErrNoDevice is the error of Start if the device does not exist and Setup is not set.
var ErrNoDevice = errors.New("host: there is no device")

// Config configures a host.
type Config struct {
	Tap       string // the device's name
	Namespace string // named network namespace of the device; empty: the caller's
	// the host's addresses with their prefix lengths; the first is the one that it is known by. One
	// or more, unless DHCP is set
	Addrs []netip.Prefix
	// get an IPv4 address by DHCP, IPv6 addresses from routers, and DNS servers from both, while
	// Run runs; OnDHCP is called for each change
	DHCP   bool
	OnDHCP func(dhcp.Event) // nil: changes are not reported
	// the default routers, at most one for each version of IP
	Gateways []netip.Addr
	// DNS servers; none: only addresses can be dialed
	DNS    []netip.AddrPort
	MTU    int       // largest packet in bytes; 0: what the device has, or 1,500
	Queues int       // queues of the device, each with a reader; default 1
	Plain  bool      // no superframes, and no checksum offload
	Run    tcpip.Run // concurrency model of the receive path; default tcpip.RunChain

	// probe for the address before using it: Start then takes 5 to 7 s, and fails if another host
	// has it
	ProbeAddr bool
	// called by Run when another host uses the address; nil: conflicts are ignored. During a call,
	// only one more conflict is kept
	OnConflict func(tcpip.Conflict)

	// set the device up on the kernel's side, and restore the previous state at Close
	Setup bool
	// with Setup: the kernel's own addresses on the device; none: see KernelAddrs
	Peers  []netip.Prefix
	Bridge string // with Setup: an interface to join with the device by a bridge

	// a pcapng file to record every frame in; it must not exist. Empty: none
	Capture  string
	Impair   link.Impairment // impairments, in both directions
	Services []Service
	Control  string // the control socket's path; empty: none
}

// KernelAddrs returns the kernel's addresses on the device: Peers, or for each of Addrs the first
// other address in its network. There are none without Setup, and with a bridge, because the
// bridge's network has other hosts.
func (c *Config) KernelAddrs() (all []netip.Prefix) {
	if len(c.Peers) > 0 || !c.Setup || c.Bridge != "" {
		return c.Peers
	}
	for _, a := range c.Addrs {
		if p := otherAddr(a); p.IsValid() {
			all = append(all, p)
		}
	}
	return all
}

// otherAddr returns the first address in the network of a that is not a, nor that of the network.
// It is zero if there is none.
func otherAddr(a netip.Prefix) netip.Prefix {
	other := a.Masked().Addr()
	if a.Addr().BitLen()-a.Bits() > 1 || other == a.Addr() {
		other = other.Next()
	}
	if other == a.Addr() {
		other = other.Next()
	}
	if !a.Contains(other) {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(other, a.Bits())
}

// validate returns an error for an invalid config. The stack checks the addresses themselves.
func (c *Config) validate() error {
	switch {
	case c.Tap == "":
		return errors.New("host: no TAP device given: name one, such as weir0")
	case len(c.Addrs) == 0 && !c.DHCP:
		return errors.New("host: no address given: use one with its prefix length, such as 10.0.0.2/24")
	case !c.Setup && (c.Bridge != "" || len(c.Peers) > 0):
		return errors.New("host: Bridge and Peers need Setup: set it too")
	case c.Setup && c.Bridge == "" && len(c.Addrs) > 0 && len(c.KernelAddrs()) == 0:
		return fmt.Errorf("host: the network of %v has no free address for the kernel: use a larger network, or set Peers", c.Addrs[0])
	}
	for _, p := range c.Peers {
		if c.has(p.Addr()) {
			return fmt.Errorf("host: %v is both the kernel's address and the host's: use another one for the kernel", p.Addr())
		}
	}
	for _, g := range c.Gateways {
		if c.has(g) || !g.IsLinkLocalUnicast() && !slices.ContainsFunc(c.Addrs, func(a netip.Prefix) bool { return a.Contains(g) }) {
			return fmt.Errorf("host: the gateway %v is not on a network of %v: use an address of that network", g, c.Addrs)
		}
	}
	return nil
}

// has reports whether an address is the host's.
func (c *Config) has(a netip.Addr) bool {
	return slices.ContainsFunc(c.Addrs, func(own netip.Prefix) bool { return own.Addr() == a })
}

// Host is a running host.
type Host struct {
	// Immutable after Start.
	config    Config
	startedAt time.Time
	stack     *tcpip.Stack
	impaired  *link.Impaired
	caps      link.Caps
	control   net.Listener // nil: none
	// the link's readers -> Run; capacity 1, a second error is dropped; never closed
	linkFailed chan error

	// the stack -> Run; capacity 1, further conflicts are dropped; never closed
	conflicts chan tcpip.Conflict

	// functions that keep what DHCP has leased until their context ends
	leases      []func(context.Context) error
	listeners   []net.Listener // of the services, in their order; nil for services with sessions
	captureMade bool           // the capture file was made
	// the kernel removes the device when it is closed: there is nothing else to undo
	transient         bool
	privilegesDropped bool           // DropPrivileges was called
	undo              []func() error // functions for Close, which calls the last one first
	closeOnce         sync.Once
	closeErr          error // result of Close

	mu         sync.Mutex
	impairment link.Impairment
}

// Start starts a host. It answers pings; connections to its services wait for Run. After an error
// nothing is left. If ctx ends first, its error is returned: probing takes seconds.
func Start(ctx context.Context, c Config) (*Host, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	h := &Host{config: c, startedAt: time.Now(), linkFailed: make(chan error, 1), conflicts: make(chan tcpip.Conflict, 1)}
	for _, step := range []func() error{h.openControlSocket, h.setUpDevice, func() error { return h.openDevice(ctx) }, h.listenServices, h.newLeases} {
		if err := step(); err != nil {
			return nil, errors.Join(err, h.Close(), h.removeCapture())
		}
	}
	return h, nil
}

// onClose adds a function for Close to call.
func (h *Host) onClose(undo func() error) { h.undo = append(h.undo, undo) }

// setUpDevice sets the device up, or checks it.
func (h *Host) setUpDevice() error {
	c := &h.config
	if !c.Setup {
		return checkDevice(c.Tap, c.Namespace)
	}
	h.transient = c.Bridge == "" && errors.Is(checkDevice(c.Tap, c.Namespace), ErrNoDevice)
	undo, err := link.Setup(link.SetupConfig{Tap: c.Tap, Namespace: c.Namespace, Addrs: c.KernelAddrs(), MTU: c.MTU, Queues: c.Queues, Bridge: c.Bridge})
	if err == nil {
		h.onClose(undo)
	}
	return err
}

// openDevice opens the device and runs the stack on it.
func (h *Host) openDevice(ctx context.Context) error {
	c := &h.config
	tap, err := link.OpenTap(link.TapConfig{Name: c.Tap, Namespace: c.Namespace, Queues: c.Queues, Plain: c.Plain, MTU: c.MTU})
	if err != nil {
		return err
	}
	if err := h.makeTransient(tap); err != nil {
		return errors.Join(err, tap.Close())
	}
	way, err := h.withCapture(tap)
	if err == nil {
		err = h.startStack(ctx, way)
	}
	if err != nil {
		return errors.Join(err, tap.Close())
	}
	return nil
}

// makeTransient makes a device that was made for this host alone end with it, so that Close needs
// no privileges to remove it.
func (h *Host) makeTransient(tap *link.Tap) error {
	if !h.transient {
		return nil
	}
	err := tap.SetTransient()
	if err == nil {
		h.undo = h.undo[:len(h.undo)-1] // setUpDevice's
	}
	return err
}

// startStack runs the stack on a link. After an error the link is the caller's.
func (h *Host) startStack(ctx context.Context, way link.Link) (err error) {
	h.caps, h.impairment = way.Caps(), h.config.Impair
	if h.impaired, err = link.Impair(way, h.impairConfig(h.impairment)); err != nil {
		return err
	}
	if h.stack, err = tcpip.NewContext(ctx, h.stackConfig(&watchedLink{h.impaired, h.linkFailed})); err != nil {
		return errors.Join(err, h.impaired.Close())
	}
	h.onClose(h.stack.Close)
	return nil
}

// withCapture returns the device, wrapped in a capture if the config asks for one.
func (h *Host) withCapture(tap link.Link) (link.Link, error) {
	if h.config.Capture == "" {
		return tap, nil
	}
	f, err := os.OpenFile(h.config.Capture, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("host: the capture file %s exists: use another name, or remove it", h.config.Capture)
	}
	if err != nil {
		return nil, fmt.Errorf("host: making the capture: %w", err)
	}
	h.captureMade = true
	h.onClose(f.Close)
	return link.NewCapture(tap, f, link.CaptureConfig{Name: h.config.Tap, Comment: "frames of the host " + h.config.name()})
}

func (h *Host) impairConfig(i link.Impairment) link.ImpairConfig {
	return link.ImpairConfig{Seed: uint64(h.startedAt.UnixNano()), Out: i, In: i}
}

// removeCapture removes the capture file of a host that failed to start.
func (h *Host) removeCapture() error {
	if !h.captureMade {
		return nil
	}
	return os.Remove(h.config.Capture)
}

// stackConfig returns the configuration of the stack on a link.
func (h *Host) stackConfig(l link.Link) tcpip.Config {
	c := &h.config
	s := tcpip.Config{Link: l, Addrs: c.Addrs, Autoconf: c.DHCP, Resolver: c.DNS, Run: c.Run, ProbeAddrs: c.ProbeAddr}
	s.OnConflict = func(with tcpip.Conflict) {
		select {
		case h.conflicts <- with:
		default:
		}
	}
	for _, g := range c.Gateways {
		all := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if g.Is6() {
			all = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		s.Routes = append(s.Routes, ip.Route{To: all, Via: g})
	}
	return s
}

// listenServices opens the services' ports. Sessions run from then on.
func (h *Host) listenServices() error {
	for _, s := range h.config.Services {
		var l net.Listener
		var err error
		if address := fmt.Sprintf(":%d", s.Port); s.Serve == nil {
			// until the stack is closed
			_, err = h.stack.Serve(address, s.Sessions, serve.Options{ReadSize: sessionReadSize})
		} else {
			l, err = h.stack.Listen("tcp", address)
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("host: the port %d is in use: use another one for the service %s", s.Port, s.Name)
		}
		if err != nil {
			return fmt.Errorf("host: the service %s: %w", s.Name, err)
		}
		h.listeners = append(h.listeners, l)
	}
	return nil
}

// Run serves until ctx ends, or until the device is gone, which is the error. It returns when the
// services and the control socket's clients have ended. It may be called once, before Close.
func (h *Host) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, len(h.listeners)+len(h.leases)) // each of them -> Run: one error
	var all sync.WaitGroup
	for n, s := range h.config.Services {
		if s.Serve == nil {
			continue
		}
		all.Go(func() {
			if err := s.Serve(ctx, h.listeners[n]); err != nil {
				failed <- fmt.Errorf("host: the service %s: %w", s.Name, err)
			}
		})
	}
	if h.control != nil {
		all.Go(func() { h.serveControl(ctx) })
	}
	all.Go(func() { h.reportConflicts(ctx) })
	for _, run := range h.leases {
		all.Go(func() {
			if err := run(ctx); err != nil {
				failed <- err
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-h.linkFailed:
	case err = <-failed:
	}
	stop()
	all.Wait()
	for range len(failed) {
		err = errors.Join(err, <-failed)
	}
	return err
}

// reportConflicts calls OnConflict until ctx ends.
func (h *Host) reportConflicts(ctx context.Context) {
	for {
		select {
		case with := <-h.conflicts:
			if h.config.OnConflict != nil {
				h.config.OnConflict(with)
			}
		case <-ctx.Done():
			return
		}
	}
}

// Close stops the host: first the stack and all connections, then the link and its capture file,
// then it undoes Setup. It may be called more than once.
func (h *Host) Close() error {
	h.closeOnce.Do(func() {
		errs := []error{h.regainCapabilities()}
		for n := len(h.undo) - 1; n >= 0; n-- {
			errs = append(errs, h.undo[n]())
		}
		h.closeErr = errors.Join(errs...)
	})
	return h.closeErr
}

// Stack returns the host's stack.
func (h *Host) Stack() *tcpip.Stack { return h.stack }

// Caps returns the device's capabilities.
func (h *Host) Caps() link.Caps { return h.caps }

// Impair changes the link's impairments.
func (h *Host) Impair(i link.Impairment) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.impaired.Set(h.impairConfig(i))
	if err == nil {
		h.impairment = i
	}
	return err
}

// Impairment returns the link's impairments.
func (h *Host) Impairment() link.Impairment {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.impairment
}
