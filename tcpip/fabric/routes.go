package fabric

import "net/netip"

// forgetRoutesLocked has all routes computed again.
func (n *Network) forgetRoutesLocked() {
	for _, node := range n.nodes {
		node.routes = nil
	}
}

// realmTowards returns the realm in which a node sends a packet for an address: a NAT is in two.
func (n *Node) realmTowards(dst netip.Addr) *realm {
	if n.inside != nil && n.inside.owners[dst] != nil {
		return n.inside
	}
	return n.realm
}

// target returns the node of a realm to which packets for an address go: its owner, or the NAT that
// leads out of the realm.
func (r *realm) target(dst netip.Addr) *Node {
	if owner := r.owners[dst]; owner != nil {
		return owner
	}
	return r.gateway
}

// next returns the line by which a node reaches a target; nil: there is none.
func (n *Node) next(target *Node) *line {
	if n.routes == nil {
		n.routes = map[*Node]*line{}
	}
	if l, known := n.routes[target]; known {
		return l
	}
	l := n.search(target)
	n.routes[target] = l
	return l
}

// search finds the first line of a shortest route by breadth. Hosts do not forward. A NAT forwards
// between the nodes behind it, and is the end of the other realm.
func (n *Node) search(target *Node) *line {
	type step struct {
		node  *Node
		first *line
	}
	seen := map[*Node]bool{n: true}
	queue := []step{{node: n}}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, l := range s.node.lines {
			if seen[l.to] || !n.mayUse(l, target) {
				continue
			}
			first := s.first
			if first == nil {
				first = l
			}
			if l.to == target {
				return first
			}
			seen[l.to] = true
			if l.to.kind == switchNode || l.to.kind == routerNode || l.to.kind == natNode && l.to.inside == target.realm {
				queue = append(queue, step{l.to, first})
			}
		}
	}
	return nil
}

// mayUse reports whether a route to the target may have a line: one of the realm of the target.
func (n *Node) mayUse(l *line, target *Node) bool {
	in := func(node *Node) bool {
		return node.realm == target.realm || node.inside == target.realm || target.inside != nil && node.realm == target.inside
	}
	return in(l.from) && in(l.to)
}
