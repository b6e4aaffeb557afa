//go:build amd64 || arm64

package program

import (
	"context"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"weir/tcpip"
)

// groupKey is what listening sockets of a group have in common.
type groupKey struct {
	network string
	addr    netip.AddrPort
}

// listenerGroup is a listener of the stack with the sockets that it is for: one, or several that
// share their address (SO_REUSEPORT), which get connections in turns.
type listenerGroup struct {
	key      groupKey
	listener *tcpip.Listener

	mu      sync.Mutex // guards what follows
	members []*acceptor
	turn    int
}

// joinLocked makes the socket listen: by a group that it may share, or by a listener of its own.
// The caller holds mu of the socket.
func (a *acceptor) joinLocked() unix.Errno {
	t := a.t
	p := &t.s.ports
	p.mu.Lock()
	defer p.mu.Unlock()
	key := groupKey{t.network(), t.claim.addr}
	if g := p.groups[key]; g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		a.group, g.members = g, append(g.members, a)
		return 0
	}
	config := tcpip.ListenConfig{Stack: t.s.stack, Backlog: a.backlog, Configure: t.opts.configure}
	l, err := config.Listen(context.Background(), key.network, t.listenAddr())
	if err != nil {
		return errnoOf(err)
	}
	a.group = &listenerGroup{key: key, listener: l.(*tcpip.Listener), members: []*acceptor{a}}
	if p.groups == nil {
		p.groups = map[groupKey]*listenerGroup{}
	}
	p.groups[key] = a.group
	t.s.tasks.Go(a.group.run) // until the program has closed all sockets of the group
	return 0
}

// leave ends the socket's part in its group. The last one closes the listener.
func (a *acceptor) leave() {
	p, g := &a.t.s.ports, a.group
	p.mu.Lock()
	defer p.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = slices.DeleteFunc(g.members, func(b *acceptor) bool { return a == b })
	if len(g.members) == 0 && p.groups[g.key] == g {
		delete(p.groups, g.key)
		g.listener.Close()
	}
}

// run takes connections from the stack while there is room for them.
func (g *listenerGroup) run() {
	for {
		conn, err := g.listener.AcceptTCP()
		if err != nil {
			return
		}
		for a := g.next(); a == nil || !a.add(conn); a = g.next() {
			if a == nil { // all have been closed
				conn.Close()
				return
			}
		}
	}
}

// next returns the member whose turn it is; nil: there is none.
func (g *listenerGroup) next() *acceptor {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.members) == 0 {
		return nil
	}
	g.turn++
	return g.members[g.turn%len(g.members)]
}
