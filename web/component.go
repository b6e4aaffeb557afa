package web

import "cmp"

// Component is a part of a server. Handle sets up the response of an exchange: its status, its
// header fields, and its body as a value. Several goroutines call it at once, unless its [Traits]
// limit that. It must not keep the Conn after it returns.
//
// A component may have a method Traits() Traits, which says how it is composed. A component without
// that method is a pipe.
type Component interface{ Handle(*Conn) }

// The classes of components of the paper (see the package comment).
type (
	// Source sets status and header fields and returns the exchange's body. It is not called for an
	// exchange that has an answer already.
	Source func(*Conn) Body
	// Filter changes the body. It sees status, header fields and the body as a value, and returns
	// the change, or nil to leave the body as it is.
	Filter func(*Conn) Transform
	// Pipe inspects an exchange. It may change request and response fields, or answer the exchange.
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
	if c.Body().IsHijack() {
		return
	}
	if t := f(c); t != nil {
		c.Transform(t)
	}
}

// Handle implements [Component].
func (f Pipe) Handle(c *Conn) { f(c) }

// Traits implements the optional part of [Component].
func (f Source) Traits() Traits { return Traits{Name: "source", Role: RoleSource} }

// Traits implements the optional part of [Component].
func (f Filter) Traits() Traits { return Traits{Name: "filter", Role: RoleFilter} }

// Traits implements the optional part of [Component].
func (f Pipe) Traits() Traits { return Traits{Name: "pipe"} }

// Role says what a component does with the body. It decides where the component may stand.
type Role uint8

// The roles.
const (
	RolePipe   Role = iota // may stand anywhere
	RoleSource             // may not follow a source that answers every exchange on the path
	RoleFilter             // must follow a source
)

func (r Role) String() string { return [...]string{"pipe", "source", "filter"}[r] }

// Traits say how a component is composed.
type Traits struct {
	Name     string // for drawings and errors; a number is appended to a name in use
	Position string // where it was configured, such as "site.hcl:12"; for errors
	Role     Role
	// The name of something that must be done at most once on a path, such as "content coding". New
	// rejects a path with two components of the same mark. Empty: no such limit.
	OncePerPath string

	// PassesOn is for a source that leaves some exchanges without an answer, for the components
	// behind it. Another source may follow it.
	PassesOn bool

	// RawPath is for a component that forwards [Conn.RawPath]. An encoded slash (%2F) then counts
	// as a slash in the whole composition, instead of being answered by 400.
	RawPath bool

	// OtherPaths is for a component that calls [Conn.DecidedAlike]. The branches before it then
	// note their decisions.
	OtherPaths bool

	// InProcess names what the component keeps for all connections in the memory of its process,
	// such as "the rates of clients". Models that spread connections over processes reject it.
	// Empty: each process may have its own, such as a cache that is checked against its source.
	InProcess string

	// Width is for a component whose Handle blocks: the number of calls that may run at once. Queue
	// is the number of exchanges that may wait for one of them. Further exchanges are answered by
	// 503. A Width of 0 means that Handle does not block; a Queue of 0 means 4 times Width.
	//
	// One client may have at most half of the Width, rounded up, so that slow requests leave room
	// for other clients. A client is an IPv4 address or an IPv6 /64. Its other requests wait, and
	// waiting clients are admitted in turn. Loopback, Unix sockets, and a trusted proxy that does
	// not name its client have no such limit. An exchange whose client disconnects stops waiting.
	//
	// With Network, Width plus Queue plus 1 goroutines stand by for the component.
	Width, Queue int
}

// TraitsOf returns the traits of a component.
func TraitsOf(c Component) Traits {
	if d, ok := c.(interface{ Traits() Traits }); ok {
		return d.Traits()
	}
	return Traits{Name: "component"}
}

// WithTraits returns c with the non-zero fields of t in place of its own traits; c keeps its role.
func WithTraits(c Component, t Traits) Component { return described{c, t} }

// Named returns c under another name.
func Named(name string, c Component) Component { return WithTraits(c, Traits{Name: name}) }

// Blocking returns c with a limit on concurrent calls (width) and on exchanges that wait for one
// (queue): see [Traits].
func Blocking(width, queue int, c Component) Component {
	return WithTraits(c, Traits{Width: width, Queue: queue})
}

type described struct {
	Component
	traits Traits
}

func (d described) Traits() Traits {
	t, own := d.traits, TraitsOf(d.Component)
	return Traits{
		Name: cmp.Or(t.Name, own.Name), Position: cmp.Or(t.Position, own.Position), Role: own.Role,
		OncePerPath: cmp.Or(t.OncePerPath, own.OncePerPath), Width: cmp.Or(t.Width, own.Width), Queue: cmp.Or(t.Queue, own.Queue),
		RawPath: t.RawPath || own.RawPath, OtherPaths: t.OtherPaths || own.OtherPaths, PassesOn: t.PassesOn || own.PassesOn, InProcess: cmp.Or(t.InProcess, own.InProcess),
	}
}
