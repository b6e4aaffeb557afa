package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"
	"sync"

	"weir/tcpip"
	"weir/tcpip/ip"
	"weir/tcpip/link"
)

// device is a link of a host while it runs.
type device struct {
	// Immutable after Start.
	config   Link
	seed     uint64 // of the impairments
	caps     link.Caps
	link     link.Link // what was opened last: the device, its capture, or the impaired link
	impaired *link.Impaired
	// the kernel removes the device when it is closed: there is nothing else to undo
	transient bool

	mu         sync.Mutex
	impairment link.Impairment
}

// openDevices sets the devices up, or checks them, and opens them.
func (h *Host) openDevices() error {
	for n, l := range h.config.Links {
		d := &device{config: l, seed: uint64(h.startedAt.UnixNano()) + uint64(n)}
		h.devices = append(h.devices, d)
		if err := h.setUpDevice(d); err != nil {
			return err
		}
		if err := h.openDevice(d); err != nil {
			return err
		}
	}
	return nil
}

// setUpDevice sets a device up, or checks it.
func (h *Host) setUpDevice(d *device) error {
	c, l := &h.config, &d.config
	if !c.Setup {
		return checkDevice(l.Name, c.Namespace, l.Medium)
	}
	d.transient = l.Bridge == "" && errors.Is(checkDevice(l.Name, c.Namespace, l.Medium), ErrNoDevice)
	undo, err := link.Setup(link.SetupConfig{Medium: l.Medium, Tap: l.Name, Namespace: c.Namespace, Addrs: l.KernelAddrs(), MTU: l.MTU, Queues: c.Queues, Bridge: l.Bridge})
	if err == nil {
		h.onClose(undo)
	}
	return err
}

// openDevice opens a device. A device that was made for this host alone then ends with it, so that
// Close needs no privileges to remove it.
func (h *Host) openDevice(d *device) error {
	c, l, open := &h.config, &d.config, link.OpenTap
	if l.Medium == link.IP {
		open = link.OpenTun
	}
	tap, err := open(link.TapConfig{Name: l.Name, Namespace: c.Namespace, Queues: c.Queues, Plain: c.Plain, MTU: l.MTU})
	if err != nil {
		return err
	}
	if d.transient {
		if err := tap.SetTransient(); err != nil {
			return errors.Join(err, tap.Close())
		}
		h.undo = h.undo[:len(h.undo)-1] // setUpDevice's
	}
	return h.useLink(d, tap)
}

// useLink wraps an open device in its capture and its impairments. Close closes it.
func (h *Host) useLink(d *device, opened link.Link) (err error) {
	d.link, d.caps, d.impairment = opened, opened.Caps(), d.config.Impair
	h.onClose(func() error {
		if h.stack != nil { // it has closed the link
			return nil
		}
		return d.link.Close()
	})
	if err := h.capture(d); err != nil {
		return err
	}
	if d.impaired, err = link.Impair(d.link, d.impairConfig(d.impairment)); err == nil {
		d.link = d.impaired
	}
	return err
}

// capture wraps a device in a capture, if the config asks for it. All captures have one file.
func (h *Host) capture(d *device) (err error) {
	c := &h.config
	if c.Capture == "" || c.CaptureLink != "" && c.CaptureLink != d.config.Name {
		return nil
	}
	var wrapped *link.Capture
	if h.firstCapture != nil {
		wrapped, err = h.firstCapture.Add(d.link, d.config.Name)
	} else {
		wrapped, err = h.newCapture(d)
	}
	if err == nil {
		d.link = wrapped
	}
	return err
}

// newCapture makes the capture file.
func (h *Host) newCapture(d *device) (*link.Capture, error) {
	c := &h.config
	f, err := os.OpenFile(c.Capture, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("host: the capture file %s exists: use another name, or remove it", c.Capture)
	}
	if err != nil {
		return nil, fmt.Errorf("host: making the capture: %w", err)
	}
	h.captureFile = f
	h.firstCapture, err = link.NewCapture(d.link, f, link.CaptureConfig{Name: d.config.Name, Comment: "frames of the host " + c.name()})
	return h.firstCapture, err
}

// closeCapture closes the capture file, when all that write to it have ended.
func (h *Host) closeCapture() error {
	if h.captureFile == nil {
		return nil
	}
	return h.captureFile.Close()
}

// removeCapture removes the capture file of a host that failed to start.
func (h *Host) removeCapture() error {
	if h.captureFile == nil {
		return nil
	}
	return os.Remove(h.config.Capture)
}

// startStack runs the stack on the devices.
func (h *Host) startStack(ctx context.Context) error {
	stack, err := tcpip.NewContext(ctx, h.stackConfig())
	if err != nil {
		return err
	}
	h.stack = stack
	h.onClose(stack.Close)
	return nil
}

// stackConfig returns the configuration of the stack.
func (h *Host) stackConfig() tcpip.Config {
	c := &h.config
	s := tcpip.Config{Resolver: c.DNS, Run: c.Run, ProbeAddrs: c.ProbeAddr}
	s.OnConflict = func(with tcpip.Conflict) {
		select {
		case h.conflicts <- with:
		default:
		}
	}
	for _, d := range h.devices {
		l := &d.config
		s.Interfaces = append(s.Interfaces, tcpip.Interface{Name: l.Name, Link: &watchedLink{d.link, h.linkFailed}, Addrs: l.Addrs, Autoconf: l.DHCP || l.Autoconf, Temporary: l.Temporary, Metric: l.Metric})
	}
	for _, g := range c.Gateways {
		all := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if g.Is6() {
			all = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		s.Routes = append(s.Routes, ip.Route{To: all, Via: g})
	}
	for _, r := range c.Routes {
		s.Routes = append(s.Routes, ip.Route{To: r.To, Via: r.Via, Link: max(0, c.linkNamed(r.Link))})
	}
	return s
}

func (d *device) impairConfig(i link.Impairment) link.ImpairConfig {
	return link.ImpairConfig{Seed: d.seed, Out: i, In: i}
}

// setImpairment changes the impairments of a device.
func (d *device) setImpairment(i link.Impairment) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.impaired.Set(d.impairConfig(i))
	if err == nil {
		d.impairment = i
	}
	return err
}

// impairText returns the impairments of a device as text.
func (d *device) impairText() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return ImpairmentText(d.impairment)
}

// devicesNamed returns the device of the link with a name, or all for "".
func (h *Host) devicesNamed(name string) ([]*device, error) {
	if name == "" {
		return h.devices, nil
	}
	n := h.config.linkNamed(name)
	if n < 0 {
		return nil, fmt.Errorf("host: there is no link %q: use %s", name, strings.Join(h.linkNames(), " or "))
	}
	return h.devices[n : n+1], nil
}

// linkNames returns the names of the links.
func (h *Host) linkNames() (all []string) {
	for _, d := range h.devices {
		all = append(all, d.config.Name)
	}
	return all
}
