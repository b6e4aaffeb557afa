package profile

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	// a node below this share of both totals is left out
	leastShare = 0.0005
	maxNodes   = 20_000
	maxDepth   = 150
)

// A Node is a function in the merged call tree of two profiles, with its cost in ns per message,
// functions that it calls included.
type Node struct {
	Name     string  `json:"name"`
	Kernel   bool    `json:"kernel,omitempty"`
	A        Cost    `json:"a"`
	B        Cost    `json:"b"`
	Children []*Node `json:"children,omitempty"` // ascending by name, so that both sides align

	byFrame map[Frame]*Node
}

// mergeTrees returns the call tree of both profiles. Small nodes are left out: their cost is only
// in their callers'.
func mergeTrees(a, b *Profile) *Node {
	root := &Node{Name: "all"}
	for _, s := range a.stacks {
		root.add(s.frames, Cost(a.perMessage(s.total())), 0)
	}
	for _, s := range b.stacks {
		root.add(s.frames, 0, Cost(b.perMessage(s.total())))
	}
	least := leastShare * max(root.A, root.B)
	for root.count(least) > maxNodes {
		least *= 2
	}
	root.prune(least)
	return root
}

// add adds the cost of a stack to all of its nodes.
func (n *Node) add(frames []Frame, a, b Cost) {
	n.A, n.B = n.A+a, n.B+b
	for depth, f := range frames {
		if depth == maxDepth {
			return
		}
		next := n.byFrame[f]
		if next == nil {
			next = &Node{Name: f.Name, Kernel: f.Kernel}
			if n.byFrame == nil {
				n.byFrame = map[Frame]*Node{}
			}
			n.byFrame[f] = next
		}
		next.A, next.B = next.A+a, next.B+b
		n = next
	}
}

// count returns the number of nodes that cost at least so much on a side.
func (n *Node) count(least Cost) int {
	if max(n.A, n.B) < least {
		return 0
	}
	total := 1
	for _, c := range n.byFrame {
		total += c.count(least)
	}
	return total
}

// prune sets the children, without those that cost less on both sides.
func (n *Node) prune(least Cost) {
	for _, c := range n.byFrame {
		if max(c.A, c.B) >= least {
			c.prune(least)
			n.Children = append(n.Children, c)
		}
	}
	n.byFrame = nil
	n.A, n.B = n.A.rounded(), n.B.rounded()
	slices.SortFunc(n.Children, func(x, y *Node) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), map[bool]int{true: 1, false: -1}[x.Kernel])
	})
}

// rounded returns the cost to 0.1 ns.
func (c Cost) rounded() Cost { return Cost(math.Round(float64(c)*10) / 10) }
