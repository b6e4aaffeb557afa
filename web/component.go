package web

import "cmp"

// Component is a part of a server. Handle sets up the response of an exchange: its status, its
// fields, its body as a value. It is called by several goroutines at once, unless its [Traits] say
// otherwise, and it must not keep the Conn.
//
// A component may have a method Traits() Traits, which says how it wants to be composed. Without
// it, it is a pipe.
type Component interface{ Handle(*Conn) }

// The paper's classes of components.
type (
	// Source gives an exchange its body, having set status and fields. It is not called when the
	// exchange has an answer.
	Source func(*Conn) Body
	// Filter changes the body: it says how, having seen status, fields and the body as a value, or
	// nil to leave it as it is.
	Filter func(*Conn) Transform
	// Pipe looks at an exchange, and may change its heads or answer it.
	Pipe func(*Conn)
)

// Handle implements [Component].
func (f Source) Handle(c *Conn) {
	if !c.Answered() {
		c.Answer(f(c))
	}
}

// Handle implements [Component].
func (f Filter) Handle(c *Conn) {
	if c.Body().Raw() {
		return
	}
	if t := f(c); t != nil {
		c.Transform(t)
	}
}

// Handle implements [Component].
func (f Pipe) Handle(c *Conn) { f(c) }

// Traits implements the optional part of [Component].
func (f Source) Traits() Traits { return Traits{Name: "source", Role: IsSource} }

// Traits implements the optional part of [Component].
func (f Filter) Traits() Traits { return Traits{Name: "filter", Role: IsFilter} }

// Traits implements the optional part of [Component].
func (f Pipe) Traits() Traits { return Traits{Name: "pipe"} }

// Role is what a component does for the body, which decides where it can stand.
type Role uint8

// The roles.
const (
	IsPipe   Role = iota // anywhere
	IsSource             // not behind a source that every exchange on the path goes through
	IsFilter             // behind a source
)

func (r Role) String() string { return [...]string{"pipe", "source", "filter"}[r] }

// Traits say how a component is composed.
type Traits struct {
	Name  string // in drawings and errors; numbered where it is not the only one
	Place string // where it was written, such as "site.hcl:12"; for errors
	Role  Role
	// at most one component with this mark on a path: what it does must not be done twice
	Once string

	// RawPath is for a component that sends [Conn.RawPath] on: in the whole composition an encoded
	// slash then counts as a slash, instead of being answered by 400.
	RawPath bool

	// A component that blocks says how many calls of Handle may go on at once, and how many
	// exchanges may wait for that; what comes beyond is answered by 503. A Width of 0 means that it
	// does not block; a Queue of 0 means 4 times Width.
	//
	// One client has at most half of the Width, rounded up, so that requests that take long leave
	// room for others; a client is an address, and 64 bits of one of version 6. Its other requests
	// wait, and clients that wait take turns. Loopback, Unix sockets, and a trusted front that does
	// not name its client have no such limit. An exchange whose client has gone stops waiting.
	//
	// By Network, Width plus Queue plus 1 goroutines stand by for the component.
	Width, Queue int
}

// Describe gives the traits of a component.
func Describe(c Component) Traits {
	if d, ok := c.(interface{ Traits() Traits }); ok {
		return d.Traits()
	}
	return Traits{Name: "component"}
}

// With is c with those traits that are not zero in place of its own; the role stays.
func With(c Component, t Traits) Component { return described{c, t} }

// Named is c under a name.
func Named(name string, c Component) Component { return With(c, Traits{Name: name}) }

// Blocking is c, of which so many calls may go on at once, and so many exchanges wait for that: see
// [Traits].
func Blocking(width, queue int, c Component) Component {
	return With(c, Traits{Width: width, Queue: queue})
}

type described struct {
	Component
	traits Traits
}

func (d described) Traits() Traits {
	t, own := d.traits, Describe(d.Component)
	return Traits{
		Name: cmp.Or(t.Name, own.Name), Place: cmp.Or(t.Place, own.Place), Role: own.Role,
		Once: cmp.Or(t.Once, own.Once), Width: cmp.Or(t.Width, own.Width), Queue: cmp.Or(t.Queue, own.Queue),
		RawPath: t.RawPath || own.RawPath,
	}
}
