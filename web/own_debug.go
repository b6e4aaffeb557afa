//go:build webdebug

package web

const debugBuild = true

// ownership detects use of a Conn by a component that no longer holds it. Each component gets a
// Conn of its own, which becomes invalid when the component passes it on.
type ownership struct{ passedOnBy string }

// assertOwned panics if the Conn was passed on.
func (o *ownership) assertOwned() {
	if o.passedOnBy != "" {
		panic("web: use of a Conn after " + o.passedOnBy + " has passed it on")
	}
}

// handOver moves the exchange to a new Conn and invalidates c.
func (c *Conn) handOver(stage string) *Conn {
	next := new(Conn)
	*next = *c
	*c = Conn{ownership: ownership{passedOnBy: stage}}
	next.requestSide.conn = next
	return next
}
