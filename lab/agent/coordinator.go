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
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"weir/internal/durable"
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
	refused error         // why an agent was refused first
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
	c.cancel()
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

// list returns the agents in the order of their names.
func (c *Coordinator) list() []Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Agent
	for _, name := range slices.Sorted(maps.Keys(c.agents)) {
		all = append(all, *c.agents[name])
	}
	return all
}

// Wait returns all agents, in the order of their names, as soon as there are n. It fails at once if
// an agent has been refused: a load from fewer machines than intended would look like a result.
func (c *Coordinator) Wait(ctx context.Context, n int) ([]Agent, error) {
	for {
		c.mu.Lock()
		changed, refused := c.changed, c.refused
		c.mu.Unlock()
		all := c.list()
		switch {
		case refused != nil:
			return nil, refused
		case len(all) >= n:
			return all, nil
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			return nil, errors.New("agent: the coordinator is closed")
		case <-ctx.Done():
			return nil, fmt.Errorf("agent: %d of %d agents have connected: start weir lab agent on the others: %w", len(all), n, ctx.Err())
		}
	}
}

// announced answers the announcement of an agent.
func (c *Coordinator) announced(m *nats.Msg) {
	h, err := parse[hello](m.Data)
	if err == nil {
		err = c.accept(h)
	}
	m.Respond(encode(reply{Error: textOf(err)})) //nolint:errcheck // an agent without an answer gives up
}

// accept records an agent, and starts to probe it.
func (c *Coordinator) accept(h hello) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ctx.Err() != nil:
		return errors.New("the coordinator is closing")
	case len(c.agents) >= maxAgents:
		return fmt.Errorf("there are %d agents already", maxAgents)
	case c.agents[h.Name] != nil:
		return fmt.Errorf("there is an agent %q already: give this one another --name", h.Name)
	case h.Version != c.config.Version:
		err := fmt.Errorf("agent %q runs weir %s, and the coordinator %s: install the same version on both", h.Name, h.Version, c.config.Version)
		if c.refused == nil {
			c.refused = fmt.Errorf("agent: %w", err)
		}
		c.changeLocked()
		return err
	}
	a := &Agent{Name: h.Name, Version: h.Version, Cores: h.Cores}
	c.agents[h.Name] = a
	c.changeLocked()
	c.probes.Go(func() { c.watch(a) })
	return nil
}

func (c *Coordinator) changeLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// watch probes an agent until it does not answer or the coordinator closes.
func (c *Coordinator) watch(a *Agent) {
	tick := time.NewTicker(livenessInterval)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := c.probe(c.ctx, a.Name); err != nil && c.ctx.Err() == nil {
			c.lose(a, err)
			return
		}
	}
}

// lose removes an agent that has fallen out, and fails the session that it takes part in.
func (c *Coordinator) lose(a *Agent, why error) {
	c.mu.Lock()
	delete(c.agents, a.Name)
	c.changeLocked()
	s := c.session
	c.mu.Unlock()
	if s != nil && s.uses(a.Name) {
		s.fail(fmt.Errorf("agent: %q fell out: %w", a.Name, why))
	}
}

// connectionFailed is called when the own connection has dropped a message.
func (c *Coordinator) connectionFailed(_ *nats.Conn, _ *nats.Subscription, err error) {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.fail(fmt.Errorf("agent: the coordinator lost a message of an agent: %w", err))
	}
}

// request sends a request to an agent and returns its error.
func (c *Coordinator) request(ctx context.Context, name string, r request) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m, err := c.conn.RequestWithContext(ctx, requestSubject(name), encode(r))
	if err != nil {
		return fmt.Errorf("agent: %q does not answer the request %s: %w", name, r.Do, err)
	}
	answer, err := parse[reply](m.Data)
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		return fmt.Errorf("agent: %q: %w", name, err)
	}
	return nil
}

// probe exchanges times with an agent.
func (c *Coordinator) probe(ctx context.Context, name string) (exchange, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	sent := now()
	m, err := c.conn.RequestWithContext(ctx, clockSubject(name), nil)
	returned := now()
	if err != nil {
		return exchange{}, fmt.Errorf("it does not answer: %w", err)
	}
	times, err := parse[clockReply](m.Data)
	return exchange{sent: sent, received: times.ReceivedNS, replied: times.SentNS, returned: returned}, err
}

// now reads this machine's clock, in ns.
func now() int64 { return int64(sample.Monotonic()) }
