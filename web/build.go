package web

import (
	"fmt"
	"maps"
	"net/http"

	"weir/flow"
)

// MaxArms is how many arms a branch may have.
const MaxArms = 63

// CompositionError is why a composition can't work, and where.
type CompositionError struct {
	Path  string // the parts on the way there, such as "chain[2] compress"
	Place string // where the component was written, if that is known
	Why   string
}

func (e *CompositionError) Error() string {
	if e.Place != "" {
		return e.Place + ": " + e.Why
	}
	return fmt.Sprintf("web: %s: %s", e.Path, e.Why)
}

// builder turns a composition into stages and edges.
type builder struct {
	way    flow.Way
	exit   func(*Conn) // what the last stage of a path does
	stages []*stage
	byName map[string]*stage
	edges  []flow.Edge
	filter bool // there is one

	rawPath bool // a component has the trait
}

// stage is a component, or a branch, in a net.
type stage struct {
	flow.Stage[*Conn]
	traits Traits
	ports  int // ways out
	// bits of the ports that lead to another stage: by the others the exchange leaves the net
	joined uint64
	exit   func(*Conn) // what is done then

	line *line // of a stage that blocks; nil: there is none
	// exchanges are to know, behind it, where they come from, since a line asks
	told bool
}

// hand passes an exchange on, or lets it leave. The stage must not touch it again.
func (s *stage) hand(c *Conn, out *flow.Out[*Conn], port int, batch []*Conn) {
	c = c.pass(s.Name)
	batch[0] = c
	if s.told {
		c.via = s
	}
	out.Pass(port, batch)
	if s.joined>>port&1 == 0 {
		s.exit(c)
	}
}

// end is a way out of the part that was built, which the next part follows.
type end struct {
	from *stage // nil: the entry
	port int
}

// reached is what holds for the exchanges that come to a point of the composition.
type reached struct {
	ends   []end
	source string            // a source that all have gone through, "" when there is none
	maybe  bool              // some have gone through a source
	once   map[string]string // marks of Once, and the stage that has it
}

// compile builds the net of a composition.
func compile(c Component, way flow.Way, queue int, exit func(*Conn)) (*builder, error) {
	b := &builder{way: way, exit: exit, byName: map[string]*stage{}}
	if _, err := b.add(c, reached{ends: []end{{}}}, ""); err != nil {
		return nil, err
	}
	if len(b.stages) == 0 {
		return nil, &CompositionError{Path: "chain", Why: "it is empty: put a component in"}
	}
	b.limit(queue)
	return b, nil
}

// limit says what the edges hold. What may wait for a stage that blocks is shared out among those
// that lead there, at least one each; the stage's line holds the sum.
func (b *builder) limit(queue int) {
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
		s.line.open(room)
		b.follow(s.line, edges)
		if b.way == flow.Network {
			s.Width = s.line.workers()
		}
	}
}

// follow has a line know by where exchanges come to it.
func (b *builder) follow(l *line, edges []*flow.Edge) {
	for _, e := range edges {
		from := b.byName[e.From]
		l.ways[from] = &arrival{}
		if from != nil {
			from.told = true
		}
	}
}

// add builds one part behind a point, and gives the point behind it.
func (b *builder) add(c Component, at reached, path string) (reached, error) {
	if c == nil {
		return at, nil
	}
	switch inner := core(c).(type) {
	case nil:
		return at, &CompositionError{path + Describe(c).Name, Describe(c).Place, "there is no component under this name: put one in"}
	case chain:
		if d, ok := c.(described); ok {
			t := d.Traits()
			if t.Width > 0 {
				return at, blockingWhole(path, t)
			}
			path += d.traits.Name
		}
		return b.addChain(inner, at, path)
	case *branch:
		t := Describe(c)
		if t.Width > 0 {
			return at, blockingWhole(path, t)
		}
		return b.addBranch(inner, t, at, path)
	}
	return b.addStage(c, at, path)
}

// blockingWhole is why a chain or a branch can't be Blocking.
func blockingWhole(path string, t Traits) error {
	return &CompositionError{path + t.Name, t.Place, "it has parts, and does not block itself: give the width to the part that blocks"}
}

// core is a component without what is wrapped around it.
func core(c Component) Component {
	for {
		d, ok := c.(described)
		if !ok {
			return c
		}
		c = d.Component
	}
}

func (b *builder) addChain(parts chain, at reached, path string) (reached, error) {
	for i, p := range parts {
		var err error
		if at, err = b.add(p, at, fmt.Sprintf("%schain[%d] ", path, i+1)); err != nil {
			return at, err
		}
	}
	return at, nil
}

func (b *builder) addBranch(c *branch, t Traits, at reached, path string) (reached, error) {
	if len(c.arms) > MaxArms {
		return at, &CompositionError{path + t.Name, t.Place, fmt.Sprintf("it has %d arms, and %d are the most: put branches into its arms", len(c.arms), MaxArms)}
	}
	straight := len(c.arms)
	s := b.stage(t, at)
	s.ports = straight + 1
	s.Do = func(in []*Conn, out *flow.Out[*Conn]) {
		for i, conn := range in {
			port := c.choose(conn)
			if uint(port) >= uint(straight) {
				port = straight
			}
			s.hand(conn, out, port, in[i:i+1])
		}
	}
	joined := at
	joined.ends = []end{{s, straight}}
	for i, arm := range c.arms {
		inside := at
		inside.ends = []end{{s, i}}
		inside, err := b.add(arm, inside, fmt.Sprintf("%s%s[%d] ", path, t.Name, i+1))
		if err != nil {
			return at, err
		}
		joined = joined.join(inside)
	}
	return joined, nil
}

// join is the point where two ways meet.
func (r reached) join(other reached) reached {
	if other.source == "" {
		r.source = ""
	}
	r.maybe = r.maybe || other.maybe
	r.ends = append(r.ends, other.ends...)
	for mark, who := range other.once {
		r.once = with(r.once, mark, who)
	}
	return r
}

func with(m map[string]string, mark, who string) map[string]string {
	n := map[string]string{mark: who}
	maps.Copy(n, m)
	return n
}

// addStage builds a component that does something itself.
func (b *builder) addStage(c Component, at reached, path string) (reached, error) {
	t := Describe(c)
	if why := at.refuses(t); why != "" {
		return at, &CompositionError{path + t.Name, t.Place, why}
	}
	if t.Width > 0 && t.Queue == 0 {
		t.Queue = 4 * t.Width
	}
	b.rawPath = b.rawPath || t.RawPath
	s := b.stage(t, at)
	s.Do = s.each(calls(c))
	if t.Width > 0 {
		s.line = newLine(t.Width)
		s.Do = s.seated(calls(c))
	}
	at.ends = []end{{s, 0}}
	switch t.Role {
	case IsSource:
		at.source, at.maybe = s.Name, true
	case IsFilter:
		b.filter = true
	}
	if t.Once != "" {
		at.once = with(at.once, t.Once, s.Name)
	}
	return at, nil
}

// refuses says why a component can't stand at this point, "" when it can.
func (r reached) refuses(t Traits) string {
	switch {
	case t.Role == IsSource && r.source != "":
		return fmt.Sprintf("%s is a source behind the source %s, which answers every exchange: it would never be asked; take one out, or put a branch before them", t.Name, r.source)
	case t.Role == IsFilter && !r.maybe:
		return fmt.Sprintf("%s is a filter with no source before it: there is nothing to change yet; put it behind the source", t.Name)
	case t.Once != "" && r.once[t.Once] != "":
		return fmt.Sprintf("%s is behind %s, and both do the %s, which can be done once: take one out", t.Name, r.once[t.Once], t.Once)
	}
	return ""
}

// stage adds a stage, and the edges that lead to it.
func (b *builder) stage(t Traits, at reached) *stage {
	s := &stage{traits: t, ports: 1, exit: b.exit}
	s.Name = b.unique(t.Name)
	b.stages = append(b.stages, s)
	b.byName[s.Name] = s
	for _, e := range at.ends {
		from := flow.Entry
		if e.from != nil {
			from = e.from.Name
			e.from.joined |= 1 << e.port
		}
		b.edges = append(b.edges, flow.Edge{From: from, Port: e.port, To: s.Name})
	}
	return s
}

// unique is the name, or the name with the first number that is free.
func (b *builder) unique(name string) string {
	free := name
	for n := 2; b.byName[free] != nil; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// lines are the lines before stages that block, by their names.
func (b *builder) lines() map[string]*line {
	lines := map[string]*line{}
	for _, s := range b.stages {
		if s.line != nil {
			lines[s.Name] = s.line
		}
	}
	return lines
}

// leaves are the stages by some of whose ports exchanges leave the net.
func (b *builder) leaves() []string {
	var names []string
	for _, s := range b.stages {
		if s.joined != 1<<s.ports-1 {
			names = append(names, s.Name)
		}
	}
	return names
}

// each is the Do of a stage that does not block. What hand does stands here once more, since each
// call less that is open while the stages behind run keeps deep chains within the processor's
// return stack.
func (s *stage) each(do func(*Conn)) func([]*Conn, *flow.Out[*Conn]) {
	return func(in []*Conn, out *flow.Out[*Conn]) {
		for i, c := range in {
			do(c)
			if debugBuild {
				c = c.pass(s.Name)
				in[i] = c
			}
			if s.told {
				c.via = s
			}
			out.Pass(0, in[i:i+1])
			if s.joined&1 == 0 {
				s.exit(c)
			}
		}
	}
}

// calls is what a component does, without what is wrapped around it.
func calls(c Component) func(*Conn) {
	c = core(c)
	if p, ok := c.(Pipe); ok {
		return p
	}
	return c.Handle
}

// seated is the Do of a stage that blocks. An exchange that does not get its turn leaves the net,
// with 503 if there was no room. By Chain its request's goroutine goes on when Do returns; by
// Network that goroutine waits until it is told here.
func (s *stage) seated(do func(*Conn)) func([]*Conn, *flow.Out[*Conn]) {
	return func(in []*Conn, out *flow.Out[*Conn]) {
		for i, c := range in {
			switch err := s.line.call(c, do); err {
			case nil:
				s.hand(c, out, 0, in[i:i+1])
				continue
			case flow.ErrFull:
				c.lost(http.StatusServiceUnavailable, err)
			default:
				c.lost(StatusGone, err)
			}
			if s.Width > 0 {
				c.home.done <- struct{}{}
			}
		}
	}
}
