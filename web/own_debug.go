//go:build webdebug

package web

const debugBuild = true

// ownership follows who holds a Conn: each component gets one of its own, which is dead when the
// component has passed it on.
type ownership struct{ passed string }

// own panics when the Conn was passed on.
func (o *ownership) own() {
	if o.passed != "" {
		panic("web: a Conn is used by, or for, " + o.passed + ", which has passed it on")
	}
}

// pass hands the Conn on as another one, and makes this one useless.
func (c *Conn) pass(stage string) *Conn {
	next := new(Conn)
	*next = *c
	*c = Conn{ownership: ownership{passed: stage}}
	next.home.conn = next
	return next
}
