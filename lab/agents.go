package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/lab/agent"
	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/workload"
)

// AgentOptions are those of a run whose load comes from other machines.
type AgentOptions struct {
	Count int // over which each load is split; 0: the load is on this machine
	// HOST:PORT at which agents reach this machine; port 0: any; empty: 127.0.0.1:0, for agents on
	// this machine
	Listen string
	// the address on which subjects listen, and which agents reach; empty: the host of Listen
	Host string
	// how long a run waits for agents, at its start and after it has lost one; 0: 5 minutes
	Wait time.Duration
	// subjects that already run, and that agents beside them measure
	Beside []string
}

// host returns the address on which subjects listen.
func (o AgentOptions) host() string {
	host, _, _ := net.SplitHostPort(o.listen())
	return cmp.Or(o.Host, host)
}

func (o AgentOptions) listen() string { return cmp.Or(o.Listen, "127.0.0.1:0") }

func (o AgentOptions) wait() time.Duration { return cmp.Or(o.Wait, 5*time.Minute) }

// check returns an error that says why the options are wrong. The names are those of
// Options.Targets.
func (o AgentOptions) check(targets []target) error {
	for _, name := range o.Beside {
		if !slices.ContainsFunc(targets, func(t target) bool { return t.name == name }) {
			return fmt.Errorf("an agent is to be beside %s, which is no server of the run that runs already: give it as NAME=http://HOST:PORT", name)
		}
	}
	switch {
	case o.Count < 0 || o.Count > agent.MaxAgents:
		return fmt.Errorf("a load cannot be split over %d agents: give 1 to %d", o.Count, agent.MaxAgents)
	case o.Count == 0 && (o.Listen != "" || o.Host != "" || o.Wait != 0 || len(o.Beside) > 0):
		return errors.New("there are settings of agents, and no agents: give their number too")
	case o.Wait < 0 || o.Wait > 24*time.Hour:
		return fmt.Errorf("agents cannot be awaited for %v: give up to 24h", o.Wait)
	case o.Host != "" && net.ParseIP(o.Host) == nil:
		return fmt.Errorf("subjects cannot listen on %q: give an IP address of this machine that agents reach", o.Host)
	}
	return o.checkHost()
}

// checkHost returns an error if subjects cannot listen on the given address.
func (o AgentOptions) checkHost() error {
	if o.Host == "" {
		return nil
	}
	if net.ParseIP(o.Host).IsUnspecified() {
		return fmt.Errorf("agents cannot connect to %s: give one IP address of this machine that they reach", o.Host)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(o.Host, "0"))
	if err != nil {
		return fmt.Errorf("subjects cannot listen on %s: give an IP address of this machine that agents reach: %w", o.Host, err)
	}
	return l.Close()
}

// tokenFile is the name of the file with the agents' token in the directory of a run, which is
// removed at its end.
const tokenFile = "agents.token"

// openAgents starts the coordinator of the run's agents, and shows the line that starts one.
func (r *Runner) openAgents(ctx context.Context) error {
	o := r.options.Agents
	targets, err := parseTargets(r.options.Targets)
	if err == nil {
		err = o.check(targets)
	}
	_, splits := r.workload.(workload.Splitter)
	switch {
	case err != nil:
	case o.Count == 0:
		return nil
	case r.options.Namespace:
		err = errors.New("agents do not reach a subject behind a veth pair: leave --veth out")
	case !splits:
		err = fmt.Errorf("a load of the workload %s comes from one generator and cannot be split: leave --agents out", r.experiment.Workload)
	}
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	file, err := filepath.Abs(filepath.Join(r.store.dir, tokenFile))
	if err != nil {
		return err
	}
	if r.agents, err = agent.Listen(ctx, agent.ListenConfig{Address: o.listen(), Version: r.options.Weir, TokenFile: file}); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	r.progress(Progress{Phase: "agents:", What: fmt.Sprintf("copy the file of the token to each load machine, and run there: %s", r.agents.Line()), CPU: noCPU})
	for _, name := range o.Beside {
		r.progress(Progress{Phase: "agents:", What: fmt.Sprintf("beside the server %s add: --beside %s --pid PID", name, name), CPU: noCPU})
	}
	return nil
}

// checkAgents checks that every load of the plan can be split. It then waits for the agents, so
// that a run does not start without them.
func (r *Runner) checkAgents(ctx context.Context) error {
	if r.agents == nil {
		return nil
	}
	r.results.Plan.Agents, r.results.Plan.LoadCPUs = r.options.Agents.Count, []int{}
	for _, c := range r.plan.Cells {
		if _, err := r.split(r.loadNamed(c.Load), c); err != nil {
			return fmt.Errorf("lab: the load %s cannot come from agents: %w", c.Load, err)
		}
	}
	return r.awaitAgents(ctx)
}

// split divides a cell of a load into one share for each agent.
func (r *Runner) split(l workload.Load, c workload.Cell) ([]workload.Share, error) {
	if l.Alone() {
		return nil, errors.New("the subject measures itself: leave --agents out")
	}
	return r.workload.(workload.Splitter).Split(l, c, r.options.Agents.Count)
}

// awaitAgents waits until the run has its agents, and records them. It does nothing in a run
// without agents.
func (r *Runner) awaitAgents(ctx context.Context) error {
	if r.agents == nil {
		return nil
	}
	o := r.options.Agents
	waiting, cancel := context.WithTimeoutCause(ctx, o.wait(), fmt.Errorf("the run waited for %v", o.wait()))
	defer cancel()
	state, err := r.agents.Wait(waiting, o.Count, o.Beside, func(s agent.State) {
		r.progress(Progress{Phase: "waiting for agents:", What: describeAgents(s, o), CPU: noCPU})
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	for _, a := range slices.Concat(state.Agents, state.Beside) {
		found := result.Agent{Name: a.Name, Version: a.Version, Cores: a.Cores, SameMachine: a.SameMachine, Beside: a.Beside}
		r.results.Agents = slices.DeleteFunc(r.results.Agents, func(a result.Agent) bool { return a == found })
		r.results.Agents = append(r.results.Agents, found) // those that have left come first
	}
	return r.checkReachable(state)
}

// describeAgents says which agents a run has.
func describeAgents(s agent.State, o AgentOptions) string {
	var names []string
	for _, a := range slices.Concat(s.Agents, s.Beside) {
		names = append(names, a.Name)
	}
	text := fmt.Sprintf("%d of %d connected", len(s.Agents)+len(s.Beside), o.Count+len(o.Beside))
	if len(names) > 0 {
		text += " (" + strings.Join(names, ", ") + ")"
	}
	if s.Refused != nil {
		text += "; refused: " + s.Refused.Error()
	}
	return text
}

// checkReachable returns an error if an agent of another machine is to reach a loopback address.
func (r *Runner) checkReachable(s agent.State) error {
	far := slices.IndexFunc(s.Agents, func(a agent.Agent) bool { return !a.SameMachine })
	if far < 0 {
		return nil
	}
	for name, c := range r.subjects {
		host := r.site.Host
		if c.Target != "" {
			host, _, _ = net.SplitHostPort(c.Target)
		}
		if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
			return fmt.Errorf("lab: agent %q is on another machine and cannot reach %s at %s: give subjects an address that agents reach", s.Agents[far].Name, name, host)
		}
	}
	return nil
}

// besideAgent returns the agent beside a subject, the last one if it was replaced; nil if there is
// none.
func (r *Runner) besideAgent(subject string) *result.Agent {
	for i := range slices.Backward(r.results.Agents) {
		if a := &r.results.Agents[i]; a.Beside != "" && a.Beside == subject {
			return a
		}
	}
	return nil
}

// agentLoad is a load that agents offer together. It is a source of one session.
type agentLoad struct {
	session *agent.Session
	shares  []workload.Share
}

// startOnAgents starts the load of place p on the agents.
func (r *Runner) startOnAgents(ctx context.Context, p Place, l workload.Load, s *workload.Running) (*generator, error) {
	shares, err := r.split(l, p.Cell)
	if err != nil {
		return nil, err
	}
	offered := agent.Load{Merge: r.workload.(workload.Splitter).Merge}
	for i, share := range shares {
		packed, err := agent.NewShare(r.loadArgs(p, share, s.Addr, i))
		if err != nil {
			return nil, err
		}
		offered.Shares = append(offered.Shares, packed)
	}
	if r.besideAgent(p.baseSubject()) != nil {
		offered.Beside = []string{p.baseSubject()}
	}
	session, err := r.agents.Start(ctx, offered)
	if err != nil {
		return nil, err
	}
	g := &generator{source: &agentLoad{session, shares}, events: session.Events(), onTick: func() {}}
	if g.observe(session.Agents()) {
		s.SharedCores = true // nothing keeps an agent from the subject's cores
	}
	return g, nil
}

// observe makes the agents on this machine, with their loads, processes of the generator. It
// reports whether there are some.
func (g *generator) observe(agents []agent.Agent) bool {
	var here []int
	for _, a := range agents {
		if a.SameMachine {
			here = append(here, a.PID)
		}
	}
	if group, err := sample.Observe(here...); err == nil && len(here) > 0 {
		g.groups = append(g.groups, group)
	}
	return len(here) > 0
}

func (a *agentLoad) send(command string) error { return a.explain(a.session.Send(command)) }

func (a *agentLoad) ended() error {
	return a.explain(cmp.Or(a.session.Err(), errors.New("lab: the agents ended the load early")))
}

// silent implements source. The trial can be repeated: the agent may be on a busy machine.
func (a *agentLoad) silent(limit time.Duration) error {
	return &agent.Disturbance{Kind: agent.LateAgent, Agent: a.session.Last(), Reason: fmt.Sprintf("sent no event for %v that the others had sent", limit)}
}

func (a *agentLoad) close() error { return a.session.Close() }

// explain returns the error of a load as that of a generator on this machine.
func (a *agentLoad) explain(err error) error {
	var failed *agent.LoadError
	if !errors.As(err, &failed) {
		return err
	}
	err = loadError(failed.Text)
	if _, ok := err.(failure); ok {
		return err
	}
	return fmt.Errorf("%w (agent %s)", err, failed.Agent)
}

// fillAgents is agentLoad.fill of a load that agents offer; it does nothing for another.
func (g *generator) fillAgents(t *result.Trial, s *workload.Running, seen *observation) error {
	if a, ok := g.source.(*agentLoad); ok {
		return a.fill(t, s, seen)
	}
	return nil
}

// fill records what each agent did, and what the subject used if an agent is beside it. It is
// called after the report.
func (a *agentLoad) fill(t *result.Trial, s *workload.Running, seen *observation) error {
	t.LoadRunQueue = 0
	for i, part := range a.session.Parts() {
		var r load.Report
		if err := json.Unmarshal(part.Report, &r); err != nil {
			return fmt.Errorf("lab: the report of agent %s: %w", part.Agent.Name, err)
		}
		if why := notOfShare(a.shares[i], &r); why != "" {
			return &agent.Disturbance{Kind: agent.WrongReport, Agent: part.Agent.Name, Reason: why}
		}
		share := result.AgentShare{Agent: part.Agent.Name, Connections: a.shares[i].Cell.Connections, OfferedRate: r.OfferedRate, Messages: r.Messages, WarmMessages: r.WarmMessages, LatenessUS: r.LatenessUS,
			ClockOffsetUS: us(part.Before.Offset), ClockBoundUS: us(part.Before.Bound), StartedLateUS: us(part.StartedLate)}
		if r.WindowNS > 0 {
			share.RunQueueRatio = float64(r.RunQueueNS) / float64(r.WindowNS)
			share.LoadPercent = 100 * (float64(r.CPUNS)/float64(r.WindowNS) + share.RunQueueRatio)
		}
		t.Agents = append(t.Agents, share)
		t.LoadRunQueue = max(t.LoadRunQueue, share.RunQueueRatio)
	}
	if used, ok := a.session.Usages()[s.Subject.Name]; ok {
		return seen.addUsage(used)
	}
	return nil
}

// notOfShare says why a report is not that of a share with a rate; empty if it may be. The limits
// are ten standard deviations of arrivals at random, and a tenth of what was due. Less may be due
// to a generator whose connections are lost, and more may be done than was due, after a stall.
func notOfShare(s workload.Share, r *load.Report) string {
	due := s.Load.Shared().Rate * float64(s.Cell.Connections) * float64(r.WindowNS) / 1e9
	if due == 0 {
		return ""
	}
	slack := due/10 + 10*math.Sqrt(due) + float64(s.Cell.Connections)
	offered, done := float64(r.Offered), float64(r.Messages)
	if offered > due+slack || offered < due-slack && len(r.Errors) == 0 || done > 2*due+slack {
		return fmt.Sprintf("says that %d messages were due and %d done, and its share were %.0f", r.Offered, r.Messages, due)
	}
	return ""
}

// addUsage adds what a server used on another machine.
func (o *observation) addUsage(u agent.Usage) error {
	var points []sample.Point
	for _, p := range u.Points {
		points = append(points, sample.Point{At: time.Duration(p.AtNS), CPU: time.Duration(p.CPUNS)})
	}
	if o.points = cutToWindow(points, o.from, o.to); len(o.points) < 2 {
		return &agent.Disturbance{Kind: agent.WrongReport, Reason: "the agent beside the server took no sample of its CPU in the window"}
	}
	o.census = sample.Census{PeakRSS: u.PeakRSS, PSS: u.PSS, Processes: u.Processes, Threads: u.Threads}
	return nil
}
