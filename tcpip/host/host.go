package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"weir/serve"
	"weir/tcpip"
	"weir/tcpip/ip"
	"weir/tcpip/link"
)

// ErrNoDevice is that of Start when the device is not there, and is not to be made.
var ErrNoDevice = errors.New("host: there is no device")

// Config says what a host is.
type Config struct {
	Tap       string       // the device's name
	Namespace string       // named network namespace that the device is in; empty: the caller's
	Addr      netip.Prefix // the host's address, with the length of its network
	// the neighbour that passes on what is for other networks; zero: nobody does
	Gateway netip.Addr
	// servers that are asked for names; none: only addresses can be dialed
	DNS    []netip.AddrPort
	MTU    int       // largest packet in bytes; 0: what the device has, or 1,500
	Queues int       // of the device, each with a reader of its own; default 1
	Plain  bool      // no superframes, and no checksums left to the device
	Run    tcpip.Run // how packets are carried up; default tcpip.RunChain

	// ask first whether somebody has the address: Start takes 5 to 7 s then, and fails if somebody
	// has
	Probe bool
	// is told by Run that somebody else uses the address; nil: nobody is. What comes while it runs,
	// but one, it is not told
	Conflict func(tcpip.Conflict)

	// make the device ready on the kernel's side, and leave things as they were at the end
	Setup  bool
	Peer   netip.Prefix // with Setup: the kernel's own address on it; zero: see KernelAddr
	Bridge string       // with Setup: an interface that is joined to the device by a bridge

	// a file that every frame is recorded in, as pcapng; it is made, and must not be there. Empty:
	// none
	Capture  string
	Impair   link.Impairment // what is done to frames, both ways
	Services []Service
	Control  string // the control socket's path; empty: none
}

// KernelAddr is the kernel's address on the device: what the config says, or the first other
// address in the host's network. Zero when nothing is set up, and on a bridge, whose network is not
// ours to choose in.
func (c *Config) KernelAddr() netip.Prefix {
	if c.Peer.IsValid() || !c.Setup || c.Bridge != "" {
		return c.Peer
	}
	a := c.Addr.Masked().Addr().Next()
	if c.Addr.Bits() == 31 {
		a = c.Addr.Masked().Addr()
	}
	if a == c.Addr.Addr() {
		a = a.Next()
	}
	return netip.PrefixFrom(a, c.Addr.Bits())
}

// validate says what cannot be.
func (c *Config) validate() error {
	switch {
	case c.Tap == "":
		return errors.New("host: a host needs a TAP device: name one, such as weir0")
	case !c.Addr.IsValid() || !c.Addr.Addr().Is4():
		return fmt.Errorf("host: the address is %v: write an IPv4 address with the length of its network, such as 10.0.0.2/24", c.Addr)
	case c.Gateway.IsValid() && (!c.Addr.Contains(c.Gateway) || c.Gateway == c.Addr.Addr()):
		return fmt.Errorf("host: the gateway %v is no neighbour of %v: name an address of that network", c.Gateway, c.Addr)
	case !c.Setup && (c.Bridge != "" || c.Peer.IsValid()):
		return errors.New("host: a bridge and an address of the kernel's are made by Setup: ask for that too")
	case c.Peer.IsValid() && c.Peer.Addr() == c.Addr.Addr():
		return fmt.Errorf("host: %v is to be the kernel's address and the host's: give the kernel another one", c.Peer.Addr())
	case c.Setup && c.Bridge == "" && !c.Addr.Contains(c.KernelAddr().Addr()) && !c.Peer.IsValid():
		return fmt.Errorf("host: the network of %v has no room for an address of the kernel's: make it larger, or give the kernel one", c.Addr)
	}
	return nil
}

// Host is one that runs.
type Host struct {
	// Immutable after Start.
	config   Config
	began    time.Time
	stack    *tcpip.Stack
	impaired *link.Impaired
	caps     link.Caps
	control  net.Listener // nil: there is none
	// from the link's readers -> Run; capacity 1, what finds no room is dropped; never closed
	failed chan error

	// from the stack -> Run; capacity 1, what finds no room is dropped; never closed
	conflicts chan tcpip.Conflict

	listeners []net.Listener // of the services, in their order; nil for those of sessions
	capture   bool           // the file was made
	// the device is removed when it is closed: there is nothing else to undo
	transient bool
	dropped   bool           // DropPrivileges was called
	undo      []func() error // what Close does, the last one first
	once      sync.Once
	err       error // Close's

	mu         sync.Mutex
	impairment link.Impairment
}

// Start has a host be there: it answers pings, and connections to its services wait for Run. After
// an error nothing is left of it.
func Start(c Config) (*Host, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	h := &Host{config: c, began: time.Now(), failed: make(chan error, 1), conflicts: make(chan tcpip.Conflict, 1)}
	for _, step := range []func() error{h.open, h.setup, h.start, h.listen} {
		if err := step(); err != nil {
			return nil, errors.Join(err, h.Close(), h.discard())
		}
	}
	return h, nil
}

// later has Close do something.
func (h *Host) later(undo func() error) { h.undo = append(h.undo, undo) }

// setup makes the device ready.
func (h *Host) setup() error {
	c := &h.config
	if !c.Setup {
		return present(c.Tap, c.Namespace)
	}
	h.transient = c.Bridge == "" && errors.Is(present(c.Tap, c.Namespace), ErrNoDevice)
	undo, err := link.Setup(link.SetupConfig{Tap: c.Tap, Namespace: c.Namespace, Addr: c.KernelAddr(), MTU: c.MTU, Queues: c.Queues, Bridge: c.Bridge})
	if err == nil {
		h.later(undo)
	}
	return err
}

// start opens the device, and runs the stack on it.
func (h *Host) start() error {
	c := &h.config
	tap, err := link.OpenTap(link.TapConfig{Name: c.Tap, Namespace: c.Namespace, Queues: c.Queues, Plain: c.Plain, MTU: c.MTU})
	if err != nil {
		return err
	}
	if err := h.release(tap); err != nil {
		return errors.Join(err, tap.Close())
	}
	way, err := h.recorded(tap)
	if err == nil {
		err = h.on(way)
	}
	if err != nil {
		return errors.Join(err, tap.Close())
	}
	return nil
}

// release has a device that setup made alone end with the host, so that Close needs no rights to
// remove it.
func (h *Host) release(tap *link.Tap) error {
	if !h.transient {
		return nil
	}
	err := tap.SetTransient()
	if err == nil {
		h.undo = h.undo[:len(h.undo)-1] // setup's
	}
	return err
}

// on runs the stack on a link. After an error the link is the caller's.
func (h *Host) on(way link.Link) (err error) {
	h.caps, h.impairment = way.Caps(), h.config.Impair
	if h.impaired, err = link.Impair(way, h.both(h.impairment)); err != nil {
		return err
	}
	if h.stack, err = tcpip.New(h.stackConfig(&watched{h.impaired, h.failed})); err != nil {
		return errors.Join(err, h.impaired.Close())
	}
	h.later(h.stack.Close)
	return nil
}

// recorded is the device with the capture before it, if one is asked for.
func (h *Host) recorded(tap link.Link) (link.Link, error) {
	if h.config.Capture == "" {
		return tap, nil
	}
	f, err := os.OpenFile(h.config.Capture, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("host: the capture %s is there already: name another file, or remove it", h.config.Capture)
	}
	if err != nil {
		return nil, fmt.Errorf("host: making the capture: %w", err)
	}
	h.capture = true
	h.later(f.Close)
	return link.NewCapture(tap, f, link.CaptureConfig{Name: h.config.Tap, Comment: "frames of the host " + h.config.Addr.String()})
}

func (h *Host) both(i link.Impairment) link.ImpairConfig {
	return link.ImpairConfig{Seed: uint64(h.began.UnixNano()), Out: i, In: i}
}

// discard removes the capture of a host that has never been.
func (h *Host) discard() error {
	if !h.capture {
		return nil
	}
	return os.Remove(h.config.Capture)
}

// stackConfig is the stack's on a link.
func (h *Host) stackConfig(l link.Link) tcpip.Config {
	c := &h.config
	s := tcpip.Config{Link: l, Addrs: []netip.Prefix{c.Addr}, Resolver: c.DNS, Run: c.Run, Probe: c.Probe}
	s.OnConflict = func(with tcpip.Conflict) {
		select {
		case h.conflicts <- with:
		default:
		}
	}
	if c.Gateway.IsValid() {
		s.Routes = []ip.Route{{To: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Via: c.Gateway}}
	}
	return s
}

// listen takes the services' ports. Sessions are run from then on.
func (h *Host) listen() error {
	for _, s := range h.config.Services {
		var l net.Listener
		var err error
		if address := fmt.Sprintf(":%d", s.Port); s.Serve == nil {
			// until the stack ends
			_, err = h.stack.Serve(address, s.Sessions, serve.Options{ReadSize: sessionRead})
		} else {
			l, err = h.stack.Listen("tcp", address)
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("host: the port %d is taken already: give the service %s another one", s.Port, s.Name)
		}
		if err != nil {
			return fmt.Errorf("host: the service %s: %w", s.Name, err)
		}
		h.listeners = append(h.listeners, l)
	}
	return nil
}

// Run serves, until ctx ends or the device is gone, which is the error. It returns when the
// services and the control socket's clients have ended, and is called once, before Close.
func (h *Host) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, len(h.listeners)) // from the services to here, one each at most
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
		all.Go(func() { h.serve(ctx) })
	}
	all.Go(func() { h.tell(ctx) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-h.failed:
	case err = <-failed:
	}
	stop()
	all.Wait()
	for range len(failed) {
		err = errors.Join(err, <-failed)
	}
	return err
}

// tell tells of conflicts until ctx ends.
func (h *Host) tell(ctx context.Context) {
	for {
		select {
		case with := <-h.conflicts:
			if h.config.Conflict != nil {
				h.config.Conflict(with)
			}
		case <-ctx.Done():
			return
		}
	}
}

// Close ends the host: first the stack and with it all connections, then its link, whose capture is
// written whole, then what Setup made. It may be called more than once.
func (h *Host) Close() error {
	h.once.Do(func() {
		errs := []error{h.regain()}
		for n := len(h.undo) - 1; n >= 0; n-- {
			errs = append(errs, h.undo[n]())
		}
		h.err = errors.Join(errs...)
	})
	return h.err
}

// Stack is the host's.
func (h *Host) Stack() *tcpip.Stack { return h.stack }

// Caps are what the device can do.
func (h *Host) Caps() link.Caps { return h.caps }

// Impair has the link spoilt in another way from now on.
func (h *Host) Impair(i link.Impairment) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.impaired.Set(h.both(i))
	if err == nil {
		h.impairment = i
	}
	return err
}

// Impairment is how the link is spoilt.
func (h *Host) Impairment() link.Impairment {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.impairment
}
