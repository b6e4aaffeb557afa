package web

// Chain composes parts that run one after the other. An exchange that one part has answered still
// goes through the rest: filters and pipes run, sources do not.
func Chain(parts ...Component) Component { return chain(parts) }

type chain []Component

func (parts chain) Handle(c *Conn) {
	for _, p := range parts {
		p.Handle(c)
	}
}

// Branch sends each exchange through one arm: the one with the index that choose returns. All arms
// lead to the component behind the branch. An exchange goes there directly if the index has no arm
// or a nil one. The name is shown in drawings. A branch has at most [MaxArms] arms.
func Branch(name string, choose func(*Conn) int, arms ...Component) Component {
	return &branch{traits: Traits{Name: name}, choose: choose, arms: arms}
}

// When is a branch with one arm: exchanges for which is returns true go through the component then.
func When(name string, is func(*Conn) bool, then Component) Component {
	return Branch(name, func(c *Conn) int {
		if is(c) {
			return 0
		}
		return 1
	}, then)
}

type branch struct {
	traits    Traits
	choose    func(*Conn) int
	arms      []Component
	armLabels []string // by arm: which exchanges take it, for drawings; may be nil
	// reports whether the choice for an exchange is the same with another path; nil: the path does
	// not matter
	decidesAlike func(c *Conn, path string) bool
}

func (b *branch) Handle(c *Conn) {
	if i := b.choose(c); uint(i) < uint(len(b.arms)) && b.arms[i] != nil {
		b.arms[i].Handle(c)
	}
}

func (b *branch) Traits() Traits { return b.traits }
