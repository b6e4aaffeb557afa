package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir/serve"
	"weir/tcpip"
	"weir/tcpip/link"
)

// ErrNoDevice is the error of Start if the device does not exist and Setup is not set.
var ErrNoDevice = errors.New("host: there is no device")

// Host is a running host.
type Host struct {
	// Immutable after Start.
	config    Config
	startedAt time.Time
	stack     *tcpip.Stack
	devices   []*device    // those of the links, in the order of Config
	control   net.Listener // nil: none
	// the links' readers -> Run; capacity 1, a second error is dropped; never closed
	linkFailed chan error

	// the stack -> Run; capacity 1, further conflicts are dropped; never closed
	conflicts chan tcpip.Conflict

	// functions that keep what DHCP has leased until their context ends
	leases []func(context.Context) error
	// of the services, in their order; nil for services with sessions
	listeners         []net.Listener
	captureFile       *os.File       // nil: none was made
	firstCapture      *link.Capture  // of the first link that is recorded; nil: none
	privilegesDropped bool           // DropPrivileges was called
	undo              []func() error // functions for Close, which calls the last one first
	closeOnce         sync.Once
	closeErr          error // result of Close
}

// Start starts a host. It answers pings; connections to its services wait for Run. After an error
// nothing is left. If ctx ends first, its error is returned: probing takes seconds.
func Start(ctx context.Context, c Config) (*Host, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	h := &Host{config: c, startedAt: time.Now(), linkFailed: make(chan error, 1), conflicts: make(chan tcpip.Conflict, 1)}
	h.onClose(h.closeCapture)
	for _, step := range []func() error{h.openControlSocket, h.openDevices, func() error { return h.startStack(ctx) }, h.listenServices, h.newLeases} {
		if err := step(); err != nil {
			return nil, errors.Join(err, h.Close(), h.removeCapture())
		}
	}
	return h, nil
}

// onClose adds a function for Close to call.
func (h *Host) onClose(undo func() error) { h.undo = append(h.undo, undo) }

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

// Caps returns the capabilities of the links' devices, in the order of Config.
func (h *Host) Caps() (all []link.Caps) {
	for _, d := range h.devices {
		all = append(all, d.caps)
	}
	return all
}

// Impair changes the impairments of the link with that name; "": of all links.
func (h *Host) Impair(name string, i link.Impairment) error {
	devices, err := h.devicesNamed(name)
	for _, d := range devices {
		err = errors.Join(err, d.setImpairment(i))
	}
	return err
}

// Impairments returns the impairments of the link with that name, in the form of ParseImpairment.
// With "" and links that differ, it has a line for each link: weir1: loss=1%.
func (h *Host) Impairments(name string) (string, error) {
	devices, err := h.devicesNamed(name)
	if err != nil {
		return "", err
	}
	var lines []string
	same := true
	for _, d := range devices {
		lines = append(lines, d.config.Name+": "+d.impairText())
		same = same && d.impairText() == devices[0].impairText()
	}
	if same {
		return devices[0].impairText(), nil
	}
	return strings.Join(lines, "\n"), nil
}
