package web

// decisions are what branches have decided by the path of an exchange.
type decisions struct {
	by   []*branch
	path string // on which the first of them has decided
}

// recordDecision notes that a branch chose by the exchange's path.
func (c *Conn) recordDecision(b *branch) {
	if b.decidesAlike == nil {
		return
	}
	if len(c.decided.by) == 0 {
		c.decided.path = c.r.URL.Path
	}
	c.decided.by = append(c.decided.by, b)
}

// DecidedAlike reports whether the routes and the conditions by path ([Routes], [WhenPath]) that
// the exchange has passed would have led it here under another path, too. If the path has been
// rewritten behind one of them, that is not known, and the result is false. A component asks it,
// and has the trait [Traits.OtherPaths], before it answers with what another path names.
func (c *Conn) DecidedAlike(other string) bool {
	c.assertOwned()
	if len(c.decided.by) > 0 && c.decided.path != c.r.URL.Path {
		return false
	}
	for _, b := range c.decided.by {
		if !b.decidesAlike(c, other) {
			return false
		}
	}
	return true
}

// WhenPath is [When] for a condition that depends on the path, as matches says, and perhaps on
// other parts of the exchange.
func WhenPath(name string, matches func(path string) bool, is func(*Conn) bool, then Component) Component {
	b := When(name, is, then).(*branch)
	b.decidesAlike = func(c *Conn, other string) bool { return matches(other) == matches(c.r.URL.Path) }
	return b
}
