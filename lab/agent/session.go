package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"weir/internal/printable"
	"weir/lab/load"
)

const (
	// startLead is the time from the command to measure to the agreed start. A command must reach
	// every agent in it.
	startLead = 300 * time.Millisecond
	// eventsQueued is how many events wait: more than agents send in a second of warm-up.
	eventsQueued = 64
	// limits of what waits in a subscription
	pendingMessages = 1024
	pendingBytes    = 4 * maxMessage
)

// Part is what an agent did in a session.
type Part struct {
	Agent  Agent
	Before Clock // before the window
	After  Clock // after it
	// from the agreed start of the window to the actual one; its error is at most Before.Bound
	StartedLate time.Duration
	Report      json.RawMessage // of the agent's own load
}

// Session is one load that several agents offer, steered like one generator process. One goroutine
// receives its events; Send, Err and Parts may be called from any. The session owns one goroutine,
// which joins the events of all agents.
type Session struct {
	coordinator *Coordinator
	number      int64
	names       []string
	beside      []Agent // beside servers
	merge       func([]json.RawMessage) (json.RawMessage, error)

	ctx  context.Context // ends with the session; its cause is why the session failed
	fail context.CancelCauseFunc

	subscriptions []*nats.Subscription
	inbox         chan arrival  // subscriptions -> run; eventsQueued; never closed
	events        chan Event    // run -> owner; eventsQueued; closed by run
	done          chan struct{} // closed by run when it returns
	closing       sync.Once
	closeErr      error

	mu     sync.Mutex
	parts  []*part
	agreed int64         // start of the window on the coordinator's clock; 0: not agreed
	window time.Duration // its length
	result []Part
	usages map[string]Usage // by the name of the subject
}

// arrival is an event of the part with this index.
type arrival struct {
	part    int
	message eventMessage
}

// errClosed is the cause of the end of a session that has not failed.
var errClosed = errors.New("agent: the session is closed")

// Load is a load that agents offer together.
type Load struct {
	Shares []Share  // one for each agent, in the order of their names
	Beside []string // subjects whose servers are measured by the agents beside them
	// returns the report of the whole load from those of its shares; nil: load.Merge, which has
	// only the figures that all loads share
	Merge func(reports []json.RawMessage) (json.RawMessage, error)
}

// Start starts a load on as many agents as it has shares. Close must be called. There is one
// session at a time. The end of ctx ends Start only.
func (c *Coordinator) Start(ctx context.Context, l Load) (*Session, error) {
	for i := range l.Shares {
		if err := l.Shares[i].check(); err != nil {
			return nil, fmt.Errorf("agent: share %d of the load: %w", i, err)
		}
	}
	s, err := c.newSession(l)
	if err != nil {
		return nil, err
	}
	go s.run()
	if err = s.subscribe(); err == nil {
		_, err = s.readClocks()
	}
	if err == nil {
		err = s.each(ctx, func(i int) request { return request{Do: doStart, Args: l.Shares[i].Args, Files: l.Shares[i].Files} })
	}
	if err != nil {
		s.fail(cmp.Or(ctx.Err(), err)) // an agent that had no time to answer is not lost
		return nil, errors.Join(s.Err(), s.Close())
	}
	return s, nil
}

// newSession makes the coordinator's session.
func (c *Coordinator) newSession(l Load) (*Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.stateLocked()
	n := len(l.Shares)
	switch lacks := all.missing(n, l.Beside); {
	case c.session != nil:
		return nil, errors.New("agent: another session is open: close it first")
	case n < 1:
		return nil, errors.New("agent: the load has no share")
	case lacks != "":
		return nil, disturbed(MissingAgents, "", "%s", lacks)
	}
	c.last++
	s := &Session{coordinator: c, number: c.last, merge: l.Merge,
		inbox: make(chan arrival, eventsQueued), events: make(chan Event, eventsQueued), done: make(chan struct{})}
	for _, a := range all.Agents[:n] {
		s.names = append(s.names, a.Name)
		s.parts = append(s.parts, newPart(a))
	}
	for _, a := range all.Beside {
		if slices.Contains(l.Beside, a.Beside) {
			s.beside = append(s.beside, a)
		}
	}
	s.ctx, s.fail = context.WithCancelCause(c.ctx)
	c.session = s
	return s, nil
}

// uses reports whether an agent takes part.
func (s *Session) uses(name string) bool {
	return slices.Contains(s.names, name) || slices.ContainsFunc(s.beside, func(a Agent) bool { return a.Name == name })
}

// Agents returns the agents that offer the load, in the order of its shares.
func (s *Session) Agents() (all []Agent) {
	for _, p := range s.parts {
		all = append(all, p.agent)
	}
	return all
}

// Last returns the name of the agent that has come least far with the load, the first of several.
func (s *Session) Last() (name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := len(eventOrder)
	for _, p := range s.parts {
		if n := p.progress(); n < least {
			least, name = n, p.agent.Name
		}
	}
	return name
}

// subscribe makes the agents' events arrive in the inbox. While it is full, they wait in their
// subscription. The connection drops events that exceed its limits, which fails the session.
func (s *Session) subscribe() error {
	conn := s.coordinator.conn
	for i, name := range s.names {
		sub, err := conn.Subscribe(eventSubject(name), func(m *nats.Msg) { s.arrived(i, m) })
		if err == nil {
			s.subscriptions = append(s.subscriptions, sub)
			err = sub.SetPendingLimits(pendingMessages, pendingBytes)
		}
		if err != nil {
			return fmt.Errorf("agent: cannot receive the events of %q: %w", name, err)
		}
	}
	return conn.FlushTimeout(requestTimeout)
}

func (s *Session) arrived(i int, m *nats.Msg) {
	message, err := parse[eventMessage](m.Data)
	switch {
	case err != nil:
		s.fail(disturbed(WrongReport, s.names[i], "sent an invalid message: %v", err))
	case message.Session == s.number:
		message.Error = printable.Text(message.Error)
		select {
		case s.inbox <- arrival{part: i, message: message}:
		case <-s.ctx.Done():
		}
	}
}

// indices returns the numbers of the parts.
func (s *Session) indices() (all []int) {
	for i := range s.names {
		all = append(all, i)
	}
	return all
}

// each sends a request to all agents of the session.
func (s *Session) each(ctx context.Context, requestOf func(i int) request) error {
	return forEach(s.indices(), func(i int) error {
		r := requestOf(i)
		r.Session = s.number
		return s.coordinator.request(ctx, s.names[i], r)
	})
}

// Events returns the events of the load: each event of load.Conduct once, when all agents have sent
// it, with times of this machine's CLOCK_MONOTONIC. The channel has 64 places. It is closed after
// the report, or when the session fails or closes. The owner must receive them.
func (s *Session) Events() <-chan Event { return s.events }

// Err returns why the session failed; nil if it did not.
func (s *Session) Err() error {
	if err := context.Cause(s.ctx); err != nil && !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

// Send sends a command of load.Conduct to all agents: measure DURATION, once, or stop. To measure,
// it first measures the agents' clocks, and agrees on a start. An error fails the session.
func (s *Session) Send(command string) error {
	c, err := load.ParseCommand(command)
	if err != nil {
		return err
	}
	if c.Measure == 0 {
		err = s.each(s.ctx, func(int) request { return request{Do: doStop} })
	} else {
		err = s.measure(c.Measure)
	}
	if err != nil {
		if failed := s.Err(); failed != nil {
			return failed
		}
		s.fail(err)
	}
	return err
}

// measure starts the window of all agents at one time.
func (s *Session) measure(d time.Duration) error {
	clocks, err := s.readClocks()
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.agreed != 0 {
		s.mu.Unlock()
		return errors.New("agent: a session has only one window")
	}
	s.mu.Unlock()
	if err := s.watchServers(d); err != nil {
		return err
	}
	agreed := now() + int64(startLead)
	s.mu.Lock()
	s.agreed, s.window = agreed, d
	s.mu.Unlock()
	return forEach(s.indices(), func(i int) error {
		r := request{Session: s.number, Do: doMeasure, MeasureNS: int64(d), AtNS: agreed + int64(clocks[i].Offset)}
		err := s.coordinator.request(s.ctx, s.names[i], r)
		if _, known := errors.AsType[*Disturbance](err); err != nil && !known {
			err = disturbed(LateAgent, s.names[i], "refused to measure: %v", err)
		}
		return err
	})
}

// readClocks measures the clocks of all agents, by which the times of their events are converted.
func (s *Session) readClocks() ([]Clock, error) {
	all, err := s.clocks()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.parts {
		p.clock = all[i]
	}
	return all, nil
}

// clocks measures the clocks of all agents. It fails if one is not known well enough.
func (s *Session) clocks() ([]Clock, error) {
	all := make([]Clock, len(s.names))
	limit := s.coordinator.config.MaxClockError
	return all, forEach(s.indices(), func(i int) (err error) {
		all[i], err = s.clockOf(s.names[i], limit)
		return err
	})
}

// clockOf measures the clock of an agent, whose error must be within the limit.
func (s *Session) clockOf(name string, limit time.Duration) (Clock, error) {
	c, err := measureClock(func() (exchange, error) { return s.coordinator.probe(s.ctx, name) })
	switch {
	case err != nil:
		return c, disturbed(WrongClock, name, "has a clock that cannot be measured: %v", err)
	case c.Bound > limit:
		return c, disturbed(WrongClock, name, "has a clock that is known to %v only, the limit is %v: use a quieter machine or network", c.Bound, limit)
	}
	return c, nil
}

// Close ends the session in any state: it stops the goroutine, and has the agents kill what is
// left of the load. It returns after the deadline of a request at most, and may be called twice.
func (s *Session) Close() error {
	s.closing.Do(func() {
		s.fail(errClosed)
		<-s.done
		for _, sub := range s.subscriptions {
			sub.Unsubscribe() //nolint:errcheck // fails if the connection is closed
		}
		c := s.coordinator
		var present []string
		for _, a := range c.list() {
			if s.uses(a.Name) {
				present = append(present, a.Name)
			}
		}
		s.closeErr = forEach(present, s.endLoad)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.session = nil
	})
	return s.closeErr
}

// endLoad has an agent kill what is left of its load. One that does not answer, or cannot do it,
// has fallen out.
func (s *Session) endLoad(name string) error {
	c := s.coordinator
	if err := c.request(context.WithoutCancel(s.ctx), name, request{Do: doEnd, Session: s.number}); err != nil {
		c.loseNamed(name, err)
	}
	return nil
}
