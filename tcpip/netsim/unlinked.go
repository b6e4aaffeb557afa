package netsim

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
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
		time.Sleep(1)
	}
	return m.node.Linked()
}

// machineAt returns the host of a name or address; m is nil if several hosts, behind different NATs,
// have the address.
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

// noteUnlinked notes that the host listens and has no link: a message of the world that is shown if
// it fails. The host may still talk to itself.
func (m *machine) noteUnlinked(network, address string) {
	if m.node.Linked() {
		return
	}
	where := m.w.caller()
	go func() { // until the next instant
		if !m.isLinked() {
			m.w.add(entry{At: m.w.Elapsed(), Where: where, Kind: testEntry, Text: fmt.Sprintf("%s listens at %s %s, but has no link: no other host reaches it (World.Link, World.Join)", m.node.Name(), network, address)})
		}
	}()
}
