package web

// Chain is a composition: its parts follow one another. An exchange that a part has answered still
// goes through the rest: sources are not called then, filters and pipes are.
func Chain(parts ...Component) Component { return chain(parts) }

type chain []Component

func (parts chain) Handle(c *Conn) {
	for _, p := range parts {
		p.Handle(c)
	}
}

// Branch is a composition: each exchange goes through the arm whose number choose gives, and all
// meet behind it. With a number that no arm has, or a nil arm, it goes straight there. The name
// stands in drawings. At most 63 arms.
func Branch(name string, choose func(*Conn) int, arms ...Component) Component {
	return &branch{traits: Traits{Name: name}, choose: choose, arms: arms}
}

// When is a branch of which one arm is empty: exchanges of which is holds go through then.
func When(name string, is func(*Conn) bool, then Component) Component {
	return Branch(name, func(c *Conn) int {
		if is(c) {
			return 0
		}
		return 1
	}, then)
}

type branch struct {
	traits Traits
	choose func(*Conn) int
	arms   []Component
}

func (b *branch) Handle(c *Conn) {
	if i := b.choose(c); uint(i) < uint(len(b.arms)) && b.arms[i] != nil {
		b.arms[i].Handle(c)
	}
}

func (b *branch) Traits() Traits { return b.traits }
