package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"weir/internal/durable"
	"weir/internal/printable"
	"weir/lab/sample"
)

const (
	livenessInterval = time.Second
	requestTimeout   = 5 * time.Second
	leaveTimeout     = time.Second
)

// ListenConfig is how a coordinator listens.
type ListenConfig struct {
	Address string // HOST:PORT at which agents reach this machine; port 0: any
	Version string // of weir; agents must have the same
	// the file that Listen writes the token into, with mode 0600; empty: none
	TokenFile string
	// by how much a window may start early or late, besides the clock's bound; 0: 20 ms
	StartTolerance time.Duration
	// the largest bound of a clock's error that is accepted; 0: 10 ms
	MaxClockError time.Duration
}

// Agent is an agent that has announced itself.
type Agent struct {
	Name    string
	Version string
	Cores   int
	PID     int
	// it runs on the coordinator's machine, and shares its process IDs
	SameMachine bool
	// the subject whose server the agent is beside; empty: it offers loads
	Beside string

	connection string // its name
}

// State is which agents a coordinator has.
type State struct {
	Agents []Agent // that offer loads, in the order of their names
	Beside []Agent // that are beside servers
	// why the last agent that came was refused; nil: it was not
	Refused error
}

// missing returns what a run with n agents, and one beside each of the subjects, still lacks; empty
// if it can start.
func (s *State) missing(n int, beside []string) string {
	var lacks []string
	if len(s.Agents) < n {
		lacks = append(lacks, fmt.Sprintf("%d of %d agents are connected", len(s.Agents), n))
	}
	for _, subject := range beside {
		if !slices.ContainsFunc(s.Beside, func(a Agent) bool { return a.Beside == subject }) {
			lacks = append(lacks, fmt.Sprintf("no agent is beside the server %s", subject))
		}
	}
	return strings.Join(lacks, ", and ")
}

// Coordinator accepts agents, and starts sessions on them. Its methods may be called from any
// goroutine. It owns its server, its connection to it, and one goroutine for each agent, which
// probes whether the agent still answers.
type Coordinator struct {
	config      ListenConfig
	url         string
	fingerprint string
	token       string
	server      *server.Server
	conn        *nats.Conn

	ctx    context.Context // ends when the coordinator closes
	cancel context.CancelFunc
	probes sync.WaitGroup // the goroutines that probe agents

	mu      sync.Mutex
	agents  map[string]*Agent
	refused error         // why the last agent that came was refused; nil: it was not
	changed chan struct{} // closed and replaced when agents or refused change
	session *Session      // the only session that is not closed; nil: none
	last    int64         // number of the last session
}

// Listen starts a coordinator. Close stops it. The end of ctx only ends Listen.
func Listen(ctx context.Context, config ListenConfig) (*Coordinator, error) {
	host, _, _ := net.SplitHostPort(config.Address)
	cert, fingerprint, err := newCertificate(host)
	if err != nil {
		return nil, err
	}
	config.StartTolerance = cmp.Or(config.StartTolerance, 20*time.Millisecond)
	config.MaxClockError = cmp.Or(config.MaxClockError, 10*time.Millisecond)
	c := &Coordinator{config: config, fingerprint: fingerprint, token: newSecret(), agents: map[string]*Agent{}, changed: make(chan struct{})}
	own := newSecret()
	if c.server, err = startServer(config.Address, cert, c.token, own); err != nil {
		return nil, err
	}
	c.url = "tls://" + c.server.Addr().String()
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if c.conn, err = connectInside(c.server, own, c.connectionFailed); err == nil {
		_, err = c.conn.Subscribe(announceSubject, c.announced)
	}
	if err == nil {
		err = c.conn.FlushTimeout(requestTimeout)
	}
	if err == nil && config.TokenFile != "" {
		err = durable.ReplaceFile(config.TokenFile, []byte(c.token+"\n"), 0o600)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// URL returns where agents connect to, as tls://HOST:PORT.
func (c *Coordinator) URL() string { return c.url }

// Fingerprint returns that of the server's certificate.
func (c *Coordinator) Fingerprint() string { return c.fingerprint }

// Token returns the secret that agents need. It must not be logged.
func (c *Coordinator) Token() string { return c.token }

// Line returns the command that starts an agent on a load machine. It does not hold the token: the
// agent reads it from its environment, or from a copy of the token file.
func (c *Coordinator) Line() string {
	line := "weir lab agent --nats " + c.url + " --fingerprint " + c.fingerprint
	if c.config.TokenFile != "" {
		line += " --token-file " + c.config.TokenFile
	}
	return line
}

// Close ends the session, tells all agents to leave, stops the server and removes the token file,
// in this order. It returns after some seconds at most, and may be called twice.
func (c *Coordinator) Close() error {
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	var err error
	if session != nil {
		err = session.Close()
	}
	c.mu.Lock()
	c.cancel() // so that accept starts no more probes
	c.mu.Unlock()
	c.probes.Wait()
	if c.conn != nil {
		c.dismiss()
		c.conn.Close()
	}
	stopServer(c.server)
	if c.config.TokenFile != "" {
		if gone := os.Remove(c.config.TokenFile); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// dismiss tells all agents to leave. One that does not answer in time loses its connection anyway.
func (c *Coordinator) dismiss() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	//nolint:errcheck // those that have left already do not answer
	forEach(c.list(), func(a Agent) error { return c.request(ctx, a.Name, request{Do: doLeave}) })
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.agents)
}

// forEach calls f for all items at once, and returns when all calls have.
func forEach[T any](items []T, f func(T) error) error {
	errs := make([]error, len(items))
	var calls sync.WaitGroup
	for i, item := range items {
		calls.Go(func() { errs[i] = f(item) })
	}
	calls.Wait()
	return errors.Join(errs...)
}

// State returns which agents there are.
func (c *Coordinator) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stateLocked()
}

func (c *Coordinator) stateLocked() (s State) {
	for _, name := range slices.Sorted(maps.Keys(c.agents)) {
		if a := *c.agents[name]; a.Beside == "" {
			s.Agents = append(s.Agents, a)
		} else {
			s.Beside = append(s.Beside, a)
		}
	}
	s.Refused = c.refused
	return s
}

// list returns all agents.
func (c *Coordinator) list() []Agent {
	s := c.State()
	return append(s.Agents, s.Beside...)
}

// Wait returns as soon as there are n agents that offer loads, and one beside each of the subjects.
// It calls changed, which may be nil, at first and when an agent comes, is lost or is refused. The
// error at the end of ctx says what is missing.
func (c *Coordinator) Wait(ctx context.Context, n int, beside []string, changed func(State)) (State, error) {
	for {
		c.mu.Lock()
		wake, s := c.changed, c.stateLocked()
		c.mu.Unlock()
		lacks := s.missing(n, beside)
		if lacks == "" {
			return s, nil
		}
		if changed != nil {
			changed(s)
		}
		select {
		case <-wake:
		case <-c.ctx.Done():
			return s, errors.New("agent: the coordinator is closed")
		case <-ctx.Done():
			return s, c.incomplete(lacks, s.Refused, context.Cause(ctx))
		}
	}
}

// incomplete is the error of a wait that has ended.
func (c *Coordinator) incomplete(lacks string, refused, why error) error {
	if refused != nil {
		lacks += ": the last that came was refused: " + refused.Error()
	}
	return fmt.Errorf("agent: %s: start weir lab agent on the other machines: %w", lacks, why)
}

// announced answers the announcement of an agent.
func (c *Coordinator) announced(m *nats.Msg) {
	h, err := parse[hello](m.Data)
	if err == nil {
		c.dropDead(h.Name)
		err = c.accept(h)
	}
	m.Respond(encode(reply{Error: textOf(err)})) //nolint:errcheck // the agent gives up
}

// dropDead removes the agent of this name if its connection has ended, so that one that was started
// again can take its place at once.
func (c *Coordinator) dropDead(name string) {
	c.mu.Lock()
	a := c.agents[name]
	c.mu.Unlock()
	if a == nil {
		return
	}
	// It is not probed: the newcomer has the same subjects, and would answer.
	list, err := c.server.Connz(&server.ConnzOptions{Limit: maxConnections})
	if err == nil && !slices.ContainsFunc(list.Conns, func(i *server.ConnInfo) bool { return i.Name == a.connection }) {
		c.lose(a, errors.New("closed its connection"))
	}
}

// accept records an agent, and starts to probe it.
func (c *Coordinator) accept(h hello) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refusalLocked(h); err != nil {
		c.refused = err
		c.changeLocked()
		return err
	}
	here := machineID()
	a := &Agent{Name: h.Name, Version: h.Version, Cores: h.Cores, PID: h.PID, SameMachine: here != "" && h.Machine == here, Beside: h.Beside, connection: h.Connection}
	c.agents[h.Name] = a
	c.refused = nil
	c.changeLocked()
	c.probes.Go(func() { c.watch(a) })
	return nil
}

// refusalLocked returns why an agent cannot take part.
func (c *Coordinator) refusalLocked(h hello) error {
	switch {
	case c.ctx.Err() != nil:
		return errors.New("the coordinator is closing")
	case len(c.agents) >= MaxAgents:
		return fmt.Errorf("there are %d agents already", MaxAgents)
	case c.agents[h.Name] != nil:
		return fmt.Errorf("there is an agent %q already: give this one another --name", h.Name)
	case h.Version != c.config.Version:
		return fmt.Errorf("agent %q runs weir %s, and the coordinator %s: install the same version on both", h.Name, h.Version, c.config.Version)
	}
	for _, a := range c.agents {
		if h.Beside != "" && a.Beside == h.Beside {
			return fmt.Errorf("agent %q is beside the server %s already", a.Name, h.Beside)
		}
	}
	return nil
}

func (c *Coordinator) changeLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// watch probes an agent until it does not answer, is lost, or the coordinator closes.
func (c *Coordinator) watch(a *Agent) {
	tick := time.NewTicker(livenessInterval)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
		c.mu.Lock()
		current := c.agents[a.Name] == a
		c.mu.Unlock()
		if !current {
			return
		}
		if _, err := c.probe(c.ctx, a.Name); err != nil && c.ctx.Err() == nil {
			c.lose(a, err)
			return
		}
	}
}

// lose removes an agent that has fallen out, closes its connection, so that it ends if it still
// runs, and fails the session that it takes part in.
func (c *Coordinator) lose(a *Agent, why error) {
	c.mu.Lock()
	if c.agents[a.Name] == a { // not one that came later with its name
		delete(c.agents, a.Name)
		c.changeLocked()
	}
	s := c.session
	c.mu.Unlock()
	if s != nil && s.uses(a.Name) {
		s.fail(disturbed(LostAgent, a.Name, "%v", why))
	}
	kick(c.server, a.connection)
}

// loseNamed is lose of the agent that has this name now, if there is one.
func (c *Coordinator) loseNamed(name string, why error) {
	c.mu.Lock()
	a := c.agents[name]
	c.mu.Unlock()
	if a != nil {
		c.lose(a, why)
	}
}

// connectionFailed is called when the own connection has dropped a message.
func (c *Coordinator) connectionFailed(_ *nats.Conn, _ *nats.Subscription, err error) {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.fail(disturbed(LostMessage, "", "the coordinator dropped a message: %v", err))
	}
}

// request sends a request to an agent and returns its error.
func (c *Coordinator) request(ctx context.Context, name string, r request) error {
	_, err := c.ask(ctx, name, r)
	return err
}

// ask sends a request to an agent and returns its answer. That an agent does not answer is a
// disturbance.
func (c *Coordinator) ask(ctx context.Context, name string, r request) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m, err := c.conn.RequestWithContext(ctx, requestSubject(name), encode(r))
	if err != nil {
		return reply{}, disturbed(LostAgent, name, "does not answer the request %s: %v", r.Do, err)
	}
	answer, err := parse[reply](m.Data)
	if err != nil {
		return answer, disturbed(WrongReport, name, "sent an invalid reply: %v", err)
	}
	if answer.Error != "" {
		return answer, fmt.Errorf("agent: %q: %s", name, printable.Text(answer.Error))
	}
	return answer, nil
}

// probe exchanges times with an agent.
func (c *Coordinator) probe(ctx context.Context, name string) (exchange, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	sent := now()
	m, err := c.conn.RequestWithContext(ctx, clockSubject(name), nil)
	returned := now()
	if err != nil {
		return exchange{}, fmt.Errorf("does not answer: %w", err)
	}
	times, err := parse[clockReply](m.Data)
	return exchange{sent: sent, received: times.ReceivedNS, replied: times.SentNS, returned: returned}, err
}

// now reads this machine's clock, in ns.
func now() int64 { return int64(sample.Monotonic()) }
