package web

import (
	"fmt"
	"maps"
	"net/http"

	"weir/flow"
)

// MaxArms is the maximum number of arms of a branch.
const MaxArms = 63

// CompositionError says why a composition cannot work, and where.
type CompositionError struct {
	Path     string // the way to the component, such as "chain[2] compress"
	Position string // where the component was configured; "": not known
	Reason   string
}

func (e *CompositionError) Error() string {
	if e.Position != "" {
		return e.Position + ": " + e.Reason
	}
	return fmt.Sprintf("web: %s: %s", e.Path, e.Reason)
}

// builder compiles a composition to stages and edges of a flow.Net.
type builder struct {
	inProcess []string // what stages keep in the process: see Traits
	way       flow.Way
	exit      func(*Conn) // called by the last stage of a path
	stages    []*stage
	byName    map[string]*stage
	edges     []flow.Edge
	hasFilter bool // the composition has a filter

	rawPath bool // a component has the trait RawPath
	// a component has the trait OtherPaths
	otherPaths bool
}

// stage is a component, or a branch, as a stage of the net.
type stage struct {
	flow.Stage[*Conn]
	traits     Traits
	ports      int      // number of ports
	portLabels []string // by port: which exchanges take it, for drawings; may be shorter than ports
	// Bit i is set if port i leads to another stage. An exchange leaves the net by the others.
	connectedPorts uint64
	exit           func(*Conn) // called when an exchange leaves the net here

	admission *admissionQueue // of a component that blocks; otherwise nil
	// An admission queue follows and counts arrivals by stage, so exchanges record this stage.
	setsPreviousStage bool
}

// forward passes an exchange to the next stage, or out of the net. The stage must not use the
// exchange afterwards.
func (s *stage) forward(c *Conn, out *flow.Out[*Conn], port int, batch []*Conn) {
	c = c.handOver(s.Name)
	batch[0] = c
	if s.setsPreviousStage {
		c.previousStage = s
	}
	out.Pass(port, batch)
	if s.connectedPorts>>port&1 == 0 {
		s.exit(c)
	}
}

// outlet is a port of a stage that the next part of the composition is connected to.
type outlet struct {
	from *stage // nil: the entry
	port int
}

// pathState describes the exchanges that reach a point of the composition.
type pathState struct {
	outlets        []outlet
	commonSource   string            // the source that all of them have passed; "": there is none
	someHaveSource bool              // some of them have passed a source
	onceBy         map[string]string // marks of OncePerPath, and the stage that has each
}

// compile builds the stages and edges of a composition.
func compile(c Component, way flow.Way, queue int, exit func(*Conn)) (*builder, error) {
	b := &builder{way: way, exit: exit, byName: map[string]*stage{}}
	if _, err := b.add(c, pathState{outlets: []outlet{{}}}, ""); err != nil {
		return nil, err
	}
	if len(b.stages) == 0 {
		return nil, &CompositionError{Path: "chain", Reason: "the composition is empty: add a component"}
	}
	b.setQueueSizes(queue)
	return b, nil
}

// setQueueSizes sets the size of each edge's queue. The queue of a stage that blocks is divided
// among the edges that lead to it, at least one place each; its admission queue has the sum.
func (b *builder) setQueueSizes(queue int) {
	into := map[*stage][]*flow.Edge{}
	for i := range b.edges {
		e := &b.edges[i]
		e.Cap, e.WhenFull = queue, flow.Wait
		into[b.byName[e.To]] = append(into[b.byName[e.To]], e)
	}
	for s, edges := range into {
		if s.traits.Width == 0 {
			continue
		}
		room := 0
		for i, e := range edges {
			e.Cap, e.WhenFull = max(1, (s.traits.Queue+i)/len(edges)), flow.Refuse
			room += e.Cap
		}
		s.admission.setMaxWaiting(room)
		b.countArrivals(s.admission, edges)
		if b.way == flow.Network {
			s.Width = s.admission.workers()
		}
	}
}

// countArrivals makes an admission queue count exchanges by the edge that they arrive on.
func (b *builder) countArrivals(l *admissionQueue, edges []*flow.Edge) {
	for _, e := range edges {
		from := b.byName[e.From]
		l.arrivals[from] = &arrivalCount{}
		if from != nil {
			from.setsPreviousStage = true
		}
	}
}

// add builds one part of the composition behind the point at, and returns the point behind the
// part.
func (b *builder) add(c Component, at pathState, path string) (pathState, error) {
	if c == nil {
		return at, nil
	}
	switch inner := unwrapTraits(c).(type) {
	case nil:
		return at, &CompositionError{path + TraitsOf(c).Name, TraitsOf(c).Position, "this name has no component: add one"}
	case chain:
		if d, ok := c.(described); ok {
			t := d.Traits()
			if t.Width > 0 {
				return at, errBlockingComposition(path, t)
			}
			path += d.traits.Name
		}
		return b.addChain(inner, at, path)
	case *branch:
		t := TraitsOf(c)
		if t.Width > 0 {
			return at, errBlockingComposition(path, t)
		}
		return b.addBranch(inner, t, at, path)
	}
	return b.addStage(c, at, path)
}

// errBlockingComposition rejects a chain or a branch with a Width: only its parts can block.
func errBlockingComposition(path string, t Traits) error {
	return &CompositionError{path + t.Name, t.Position, "a composition does not block itself: give the width to the part that blocks"}
}

// unwrapTraits returns a component without the traits set by WithTraits.
func unwrapTraits(c Component) Component {
	for {
		d, ok := c.(described)
		if !ok {
			return c
		}
		c = d.Component
	}
}

func (b *builder) addChain(parts chain, at pathState, path string) (pathState, error) {
	for i, p := range parts {
		var err error
		if at, err = b.add(p, at, fmt.Sprintf("%schain[%d] ", path, i+1)); err != nil {
			return at, err
		}
	}
	return at, nil
}

func (b *builder) addBranch(c *branch, t Traits, at pathState, path string) (pathState, error) {
	if len(c.arms) > MaxArms {
		return at, &CompositionError{path + t.Name, t.Position, fmt.Sprintf("it has %d arms, the maximum is %d: nest branches in its arms", len(c.arms), MaxArms)}
	}
	straight := len(c.arms)
	s := b.newStage(t, at)
	s.ports, s.portLabels = straight+1, c.armLabels
	s.Do = func(in []*Conn, out *flow.Out[*Conn]) {
		for i, conn := range in {
			if b.otherPaths {
				conn.recordDecision(c)
			}
			port := c.choose(conn)
			if uint(port) >= uint(straight) {
				port = straight
			}
			s.forward(conn, out, port, in[i:i+1])
		}
	}
	joined := at
	joined.outlets = []outlet{{s, straight}}
	for i, arm := range c.arms {
		inside := at
		inside.outlets = []outlet{{s, i}}
		inside, err := b.add(arm, inside, fmt.Sprintf("%s%s[%d] ", path, t.Name, i+1))
		if err != nil {
			return at, err
		}
		joined = joined.join(inside)
	}
	return joined, nil
}

// join returns the state of the point where two paths meet.
func (r pathState) join(other pathState) pathState {
	if other.commonSource == "" {
		r.commonSource = ""
	}
	r.someHaveSource = r.someHaveSource || other.someHaveSource
	r.outlets = append(r.outlets, other.outlets...)
	for mark, who := range other.onceBy {
		r.onceBy = addMark(r.onceBy, mark, who)
	}
	return r
}

func addMark(m map[string]string, mark, who string) map[string]string {
	n := map[string]string{mark: who}
	maps.Copy(n, m)
	return n
}

// addStage builds a component that is not a composition.
func (b *builder) addStage(c Component, at pathState, path string) (pathState, error) {
	t := TraitsOf(c)
	if why := at.rejection(t); why != "" {
		return at, &CompositionError{path + t.Name, t.Position, why}
	}
	if t.Width > 0 && t.Queue == 0 {
		t.Queue = 4 * t.Width
	}
	b.rawPath, b.otherPaths = b.rawPath || t.RawPath, b.otherPaths || t.OtherPaths
	s := b.newStage(t, at)
	s.Do = s.runAll(handleFunc(c))
	if t.Width > 0 {
		s.admission = newAdmissionQueue(t.Width)
		s.Do = s.runAdmitted(handleFunc(c))
	}
	at.outlets = []outlet{{s, 0}}
	switch t.Role {
	case RoleSource:
		if at.someHaveSource = true; !t.PassesOn {
			at.commonSource = s.Name
		}
	case RoleFilter:
		b.hasFilter = true
	}
	if t.OncePerPath != "" {
		at.onceBy = addMark(at.onceBy, t.OncePerPath, s.Name)
	}
	return at, nil
}

// rejection returns the reason why a component cannot stand at this point, or "".
func (r pathState) rejection(t Traits) string {
	switch {
	case t.Role == RoleSource && r.commonSource != "":
		return fmt.Sprintf("source %s comes after the source %s, which answers every exchange, so it would never be called: remove one, or put a branch before them", t.Name, r.commonSource)
	case t.Role == RoleFilter && !r.someHaveSource:
		return fmt.Sprintf("filter %s has no source before it, so there is no body to change: put it after the source", t.Name)
	case t.OncePerPath != "" && r.onceBy[t.OncePerPath] != "":
		return fmt.Sprintf("%s and %s both do the %s, which must be done only once: remove one", r.onceBy[t.OncePerPath], t.Name, t.OncePerPath)
	}
	return ""
}

// newStage adds a stage and the edges that lead to it.
func (b *builder) newStage(t Traits, at pathState) *stage {
	s := &stage{traits: t, ports: 1, exit: b.exit}
	s.Name = b.uniqueName(t.Name)
	b.stages = append(b.stages, s)
	b.byName[s.Name] = s
	if t.InProcess != "" {
		b.inProcess = append(b.inProcess, s.Name+" ("+t.InProcess+")")
	}
	for _, e := range at.outlets {
		edge := flow.Edge{From: flow.Entry, Port: e.port, To: s.Name}
		if e.from != nil {
			edge.From, edge.Label = e.from.Name, e.from.portLabel(e.port)
			e.from.connectedPorts |= 1 << e.port
		}
		b.edges = append(b.edges, edge)
	}
	return s
}

// portLabel returns which exchanges take a port, or "" if that has no name.
func (s *stage) portLabel(port int) string {
	if port >= len(s.portLabels) {
		return ""
	}
	return s.portLabels[port]
}

// uniqueName returns the name, with the first free number appended if the name is in use.
func (b *builder) uniqueName(name string) string {
	free := name
	for n := 2; b.byName[free] != nil; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// admissionQueues returns the queues before stages that block, by the names of the stages.
func (b *builder) admissionQueues() map[string]*admissionQueue {
	lines := map[string]*admissionQueue{}
	for _, s := range b.stages {
		if s.admission != nil {
			lines[s.Name] = s.admission
		}
	}
	return lines
}

// lastStages returns the names of the stages behind which exchanges leave the net.
func (b *builder) lastStages() []string {
	var names []string
	for _, s := range b.stages {
		if s.connectedPorts != 1<<s.ports-1 {
			names = append(names, s.Name)
		}
	}
	return names
}

// runAll returns the Do function of a stage that does not block. It repeats the body of forward:
// with one call fewer open while the following stages run, deep chains stay within the processor's
// return stack buffer.
func (s *stage) runAll(do func(*Conn)) func([]*Conn, *flow.Out[*Conn]) {
	return func(in []*Conn, out *flow.Out[*Conn]) {
		for i, c := range in {
			do(c)
			if debugBuild {
				c = c.handOver(s.Name)
				in[i] = c
			}
			if s.setsPreviousStage {
				c.previousStage = s
			}
			out.Pass(0, in[i:i+1])
			if s.connectedPorts&1 == 0 {
				s.exit(c)
			}
		}
	}
}

// handleFunc returns the Handle of a component without its wrappers.
func handleFunc(c Component) func(*Conn) {
	c = unwrapTraits(c)
	if p, ok := c.(Pipe); ok {
		return p
	}
	return c.Handle
}

// runAdmitted returns the Do function of a stage that blocks. An exchange that is not admitted
// leaves the net: with 503 if the queue was full. With Chain its request's goroutine continues when
// Do returns; with Network that goroutine waits until it is woken here.
func (s *stage) runAdmitted(do func(*Conn)) func([]*Conn, *flow.Out[*Conn]) {
	return func(in []*Conn, out *flow.Out[*Conn]) {
		for i, c := range in {
			if s.Width == 0 { // with Chain the goroutine that serves the connection calls
				c.leaveLoop()
			}
			switch err := s.admission.run(c, do); err {
			case nil:
				s.forward(c, out, 0, in[i:i+1])
				continue
			case flow.ErrFull:
				c.failWith(http.StatusServiceUnavailable, err)
			default:
				c.failWith(StatusClientClosedRequest, err)
			}
			if s.Width > 0 {
				c.requestSide.setUpDone <- struct{}{}
			}
		}
	}
}
