package netsim

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// unlinkedError is the error of a connection from or to a host that no link joins to the network.
type unlinkedError struct{ host string }

func (e *unlinkedError) Error() string {
	return fmt.Sprintf("netsim: the host %q has no link: join it to the network by World.Link or World.Join (%v)", e.host, syscall.ENETUNREACH)
}

// Unwrap returns the error that a system without a network returns.
func (e *unlinkedError) Unwrap() error { return syscall.ENETUNREACH }

// reachable returns an error if the host itself, or the host at an address, has no link. That
// includes no address of the host itself.
func (m *machine) reachable(network, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return nil // it is the host itself, or the stack's to refuse
	}
	target, known := m.w.machineAt(host)
	addr, _ := netip.ParseAddr(host)
	if !known && !addr.IsValid() || target == m || addr.IsLoopback() || addr.IsUnspecified() {
		return nil
	}
	for _, one := range []*machine{m, target} {
		if one != nil && !one.isLinked() {
			return &net.OpError{Op: "dial", Net: network, Err: &unlinkedError{one.node.Name()}}
		}
	}
	return nil
}

// isLinked reports whether the host has a link, at the end of this instant: a program may start
// before its host is linked.
func (m *machine) isLinked() bool {
	if !m.node.Linked() {
		time.Sleep(time.Nanosecond)
	}
	return m.node.Linked()
}

// machineAt returns the host of a name or address; m is nil if several hosts, behind different
// NATs, have the address.
func (w *World) machineAt(host string) (m *machine, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m, known = w.names[canonical(host)]; known {
		return m, true
	}
	addr, err := netip.ParseAddr(host)
	for _, one := range w.hosts {
		if err != nil || !slices.ContainsFunc(one.addrs, func(p netip.Prefix) bool { return p.Addr() == addr }) {
			continue
		}
		if known {
			return nil, true
		}
		m, known = one, true
	}
	return m, known
}

// unlinkedLocked returns the names of the hosts that have no link. A single host needs none.
func (w *World) unlinkedLocked() (names []string) {
	if len(w.hosts) == 1 {
		return nil
	}
	for _, m := range w.hosts {
		if !m.node.Linked() {
			names = append(names, m.node.Name())
		}
	}
	return names
}

// maxUnlinked limits unlinkedText.
const maxUnlinked = 10

// unlinkedText names the hosts that have no link; "": all have one.
func (r record) unlinkedText() string {
	if len(r.unlinked) == 0 {
		return ""
	}
	text := "No link joins these hosts to the network (World.Link, World.Join): " + strings.Join(r.unlinked[:min(len(r.unlinked), maxUnlinked)], ", ")
	if more := len(r.unlinked) - maxUnlinked; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text + "."
}
