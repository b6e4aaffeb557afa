package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"weir/tcpip/link"
	"weir/tcpip/nat"
	"weir/tcpip/nat/guest"
)

// stackNATInsideCmd is the helper of weir stack nat in the guest's namespaces.
type stackNATInsideCmd struct{}

// Run implements the command.
func (*stackNATInsideCmd) Run() error {
	err := guest.Inside(os.NewFile(3, "control"))
	if errors.Is(err, guest.ErrReported) {
		return statusError(exitFailed)
	}
	return err
}

// statusError is the exit status of a command that has failed; it has printed why.
type statusError int

// statusOf returns the status of a command that has ended; 128 and its number after a signal.
func statusOf(ended *exec.ExitError) statusError {
	if w, ok := ended.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return statusError(128 + int(w.Signal()))
	}
	return statusError(ended.ExitCode())
}

// Error implements error.
func (s statusError) Error() string {
	return fmt.Sprintf("the command has ended with status %d", int(s))
}

// endNotifier is a connection of messages that sends why it can be read no more.
type endNotifier struct {
	io.ReadWriteCloser
	ended chan<- error // of capacity 1; never closed
}

// Read implements io.Reader. Its caller does not call it again after an error.
func (e *endNotifier) Read(p []byte) (int, error) {
	n, err := e.ReadWriteCloser.Read(p)
	if err != nil {
		e.ended <- err
	}
	return n, err
}

// endingLink is a link that sends why it can be read no more.
type endingLink struct {
	link.Link
	gone chan<- error // of capacity 1, a second error is dropped; never closed
}

// Queue implements link.Link.
func (l *endingLink) Queue(n int) link.Queue { return &endingQueue{l.Link.Queue(n), l.gone} }

type endingQueue struct {
	link.Queue
	gone chan<- error
}

// Read implements link.Queue.
func (q *endingQueue) Read(batch []link.Frame, wait time.Duration) (int, error) {
	n, err := q.Queue.Read(batch, wait)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		select {
		case q.gone <- err:
		default:
		}
	}
	return n, err
}

// Watch implements link.Watcher: it reports whether the queue can wait for a descriptor.
func (q *endingQueue) Watch(fd int) bool {
	w, ok := q.Queue.(link.Watcher)
	return ok && w.Watch(fd)
}

// closingLink is a link whose capture file is closed after it.
type closingLink struct {
	*link.Capture
	file *os.File
}

// Close implements link.Link.
func (c *closingLink) Close() error {
	err := c.Capture.Close()
	c.file.Close() //nolint:errcheck // Capture has returned the errors of writing
	return err
}

// config returns the configuration of the network, without a link.
func (c *natFlags) config() (n nat.Config, err error) {
	if n.Gateway, err = prefixes("--addr", c.Addr); err != nil {
		return n, err
	}
	if n.Deny, err = prefixes("--deny", c.Deny); err != nil {
		return n, err
	}
	for _, text := range c.Loopback {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return n, usageError{fmt.Errorf("--loopback is %q: write an address, such as 192.0.2.1", text)}
		}
		n.Loopback = append(n.Loopback, a)
	}
	for _, text := range c.DNS {
		server, err := nameServer(text)
		if err != nil {
			return n, err
		}
		n.DNS = append(n.DNS, server)
	}
	if len(c.DNS) == 0 {
		n.DNS = machineServers()
	}
	for _, text := range c.Publish {
		p, err := parsePublish(text)
		if err != nil {
			return n, err
		}
		n.Publish = append(n.Publish, p)
	}
	return n, nil
}

// machineServers returns the name servers of this machine.
func machineServers() (all []netip.AddrPort) {
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" {
			if a, err := netip.ParseAddr(f[1]); err == nil {
				all = append(all, netip.AddrPortFrom(a, 53))
			}
		}
	}
	return all
}

// parsePublish parses a published port: [ADDR:]PORT[:PORT][/udp].
func parsePublish(text string) (p nat.Publish, err error) {
	wrong := usageError{fmt.Errorf("--publish is %q: write PORT:PORT, ADDR:PORT:PORT or PORT:PORT/udp, such as 8080:80", text)}
	ports, network, hasNetwork := strings.Cut(text, "/")
	if p.Network = "tcp"; hasNetwork {
		p.Network = network
	}
	at, inside := ports, ports
	if i := strings.LastIndexByte(ports, ':'); i >= 0 {
		at, inside = ports[:i], ports[i+1:]
	}
	if !strings.Contains(at, ":") {
		at = "127.0.0.1:" + at
	}
	if p.Listen, err = netip.ParseAddrPort(at); err != nil || p.Network != "tcp" && p.Network != "udp" {
		return p, wrong
	}
	port, err := strconv.ParseUint(inside, 10, 16)
	if err != nil || port == 0 {
		return p, wrong
	}
	p.To = netip.AddrPortFrom(netip.Addr{}, uint16(port))
	return p, nil
}
