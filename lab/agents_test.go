package lab

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/lab/agent"
	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/stream"
)

// TestRunsThatAgentsCannotOfferAreRefusedBeforeTheyStart: the error says what to do. Only the
// agents themselves are awaited for.
func TestRunsThatAgentsCannotOfferAreRefusedBeforeTheyStart(t *testing.T) {
	const sink = "name = \"mine\"\nsubjects = []\n[[load]]\nrate = 10\nsize = 10\n"
	for _, test := range []struct {
		name, experiment, want string
		change                 func(*Options)
	}{
		{"chat", "workload = \"chat\"\nconnections = [4]\n[[load]]\nrate = 1\n", "the workload chat comes from one generator and cannot be split: leave --agents out", func(*Options) {}},
		{"bursts", "connections = [4]\npatterns = [\"together\"]\n" + sink, "the pattern together sends on all connections at one instant", func(*Options) {}},
		{"too few connections", "connections = [1]\npatterns = [\"poisson\"]\n" + sink, "2 agents need a connection each, and it has 1", func(*Options) {}},
		{"a veth pair", "connections = [4]\n" + sink, "do not reach a subject behind a veth pair", func(o *Options) { o.Namespace = true }},
		{"too many agents", "connections = [4]\n" + sink, "give 1 to 256", func(o *Options) { o.Agents.Count = 257 }},
		{"settings without agents", "connections = [4]\n" + sink, "and no agents", func(o *Options) { o.Agents = AgentOptions{Listen: "127.0.0.1:0"} }},
		{"an unknown server", "connections = [4]\n" + sink, "an agent is to be beside other", func(o *Options) { o.Agents.Beside = []string{"other"} }},
		{"a host name", "connections = [4]\n" + sink, "give an IP address of this machine", func(o *Options) { o.Agents.Host = "localhost" }},
		{"an address of another machine", "connections = [4]\n" + sink, "subjects cannot listen on 192.0.2.1: give an IP address of this machine", func(o *Options) { o.Agents.Host = "192.0.2.1" }},
		{"subjects on every address", "connections = [4]\n" + sink, "agents cannot connect to ::", func(o *Options) { o.Agents.Host = "::" }},
		{"every address", "connections = [4]\n" + sink, "is not that at which agents reach this machine", func(o *Options) { o.Agents.Listen = "0.0.0.0:0" }},
		{"no agent", "connections = [4]\npatterns = [\"poisson\"]\n" + sink, "0 of 2 agents are connected: start weir lab agent on the other machines: the run waited for 1ms", func(*Options) {}},
	} {
		e, err := ParseExperiment("mine.toml", []byte(test.experiment))
		must(t, err)
		o := Options{Out: filepath.Join(t.TempDir(), "run"), Targets: []string{"theirs=http://127.0.0.1:9"}, Seed: 1, ServerCPUs: 1, Generator: []string{"weir", "load"},
			Agents: AgentOptions{Count: 2, Wait: time.Millisecond}}
		test.change(&o)
		r, err := NewRunner(t.Context(), e, o, nil)
		if err == nil {
			must(t, r.Close())
		}
		if o.Namespace && err != nil && strings.Contains(err.Error(), "root") {
			continue // not to be had here
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %q", test.name, err, test.want)
		}
		if _, err := os.Stat(o.Out); !os.IsNotExist(err) {
			t.Errorf("%s: got the directory (error %v), want none of a run that did not start", test.name, err)
		}
	}
}

// TestAnAgentsDisturbanceRejectsTheTrial, and what the server did wrong is its failure.
func TestAnAgentsDisturbanceRejectsTheTrial(t *testing.T) {
	var x result.Trial
	must(t, record(&x, &agent.Disturbance{Kind: agent.LostAgent, Agent: "b", Reason: "does not answer"}))
	if len(x.RejectedBecause) != 1 || x.RejectedBecause[0] != `agent lost: "b" does not answer` || len(x.FailedBecause) > 0 {
		t.Errorf("got %+v, want a rejection that names the agent", x)
	}
	load := &agentLoad{}
	x = result.Trial{}
	must(t, record(&x, load.explain(&agent.LoadError{Agent: "b", Text: "load: the server failed: it refused"})))
	if len(x.FailedBecause) != 1 || x.FailedBecause[0] != "it refused" || len(x.RejectedBecause) > 0 {
		t.Errorf("got %+v, want a failure of the server", x)
	}
	err := record(&x, load.explain(&agent.LoadError{Agent: "b", Text: "load: too many open files"}))
	if err == nil || !strings.Contains(err.Error(), "too many open files (agent b)") {
		t.Errorf("got error %v, want one of the run that names the agent", err)
	}
}

// TestAReportOfAnotherLoadThanTheShareIsRefused: its share are 100 messages a second on each of 4
// connections.
func TestAReportOfAnotherLoadThanTheShareIsRefused(t *testing.T) {
	share := workload.Share{Load: &stream.Load{Common: workload.Common{Rate: 100}}, Cell: workload.Cell{Connections: 4}}
	closed := workload.Share{Load: &stream.Load{}, Cell: workload.Cell{Connections: 4}}
	const second = int64(time.Second)
	for name, c := range map[string]struct {
		share workload.Share
		r     load.Report
		right bool
	}{
		"all":                       {share, load.Report{Offered: 400, Messages: 400, WindowNS: second}, true},
		"arrivals at random":        {share, load.Report{Offered: 460, Messages: 430, WindowNS: second}, true},
		"after a stall":             {share, load.Report{Offered: 400, Messages: 700, WindowNS: second}, true},
		"a few in a short window":   {share, load.Report{Offered: 8, Messages: 8, WindowNS: second / 100}, true},
		"with lost connections":     {share, load.Report{Offered: 100, Messages: 1, Errors: map[string]int64{"closed": 3}, WindowNS: second}, true},
		"a closed loop":             {closed, load.Report{Offered: 1 << 40, Messages: 1 << 40, WindowNS: second}, true},
		"too many due":              {share, load.Report{Offered: 1 << 40, Messages: 400, WindowNS: second}, false},
		"too many done":             {share, load.Report{Offered: 400, Messages: 1 << 40, WindowNS: second}, false},
		"too few without a reason":  {share, load.Report{Offered: 100, Messages: 100, WindowNS: second}, false},
		"nothing, without a reason": {share, load.Report{WindowNS: second}, false},
	} {
		if why := notOfShare(c.share, &c.r); (why == "") != c.right {
			t.Errorf("%s: got the reason %q, want one: %v", name, why, !c.right)
		}
	}
}

// TestASilentAgentRejectsTheTrial: its generator does not go on, and the agent itself answers.
func TestASilentAgentRejectsTheTrial(t *testing.T) {
	g := &generator{source: &agentLoad{session: &agent.Session{}}, events: make(chan agent.Event), onTick: func() {}}
	_, err := g.awaitEvent(t.Context(), "connected", time.Millisecond)
	var x result.Trial
	if err := record(&x, err); err != nil || len(x.RejectedBecause) != 1 || !strings.Contains(x.RejectedBecause[0], "sent no event for 1ms") {
		t.Errorf("got error %v, %+v; want a rejection", err, x)
	}
}

// TestASlowAgentRejectsTheTrial: its messages were late, though most of all were not.
func TestASlowAgentRejectsTheTrial(t *testing.T) {
	x, ev := goodTrial()
	x.Agents = []result.AgentShare{{Agent: "fast", LatenessUS: result.Percentiles{P50: 10, P99: 50}, LoadPercent: 95}, {Agent: "slow", LatenessUS: result.Percentiles{P50: 900, P99: 9000}}}
	why := rejections(sessionOf(t, "sink"), x, ev, false)
	if len(why) != 1 || !strings.Contains(why[0], "generator late: agent slow: median 900 us") {
		t.Errorf("got the reasons %q, want that the agent was late", why)
	}
	if got := workload.LoadPercent(x); got != 95 {
		t.Errorf("got a load of %v %% of a core, want that of the busiest agent, 95 %%", got)
	}
}

// TestSharesOfALoadAddUpToItsCell: their connections and rates are those of the cell together, and
// each has a seed of its own.
func TestSharesOfALoadAddUpToItsCell(t *testing.T) {
	e, err := ParseExperiment("mine.toml", []byte("workload = \"requests\"\nsubjects = []\nconnections = [23]\n[[load]]\nname = \"open\"\nrate = 0.7\npattern = \"poisson\"\n"))
	must(t, err)
	must(t, e.Validate())
	r := &Runner{experiment: e, workload: sessionOf(t, "requests"), options: Options{Agents: AgentOptions{Count: 5}}, plan: Plan{Seed: 3},
		subjects: map[string]contender{"mine": {Subject: &subject.Subject{Name: "mine"}}}}
	p := Place{Cell: workload.Cell{Load: "open", Connections: 23, Pattern: "poisson"}, Subject: "mine"}
	shares, err := r.split(e.Loads[0], p.Cell)
	must(t, err)
	sums, seeds := map[string]float64{}, map[string]bool{}
	for i, share := range shares {
		args := r.loadArgs(p, share, "127.0.0.1:1", i)
		for j, flag := range args[:len(args)-1] {
			if v, err := strconv.ParseFloat(args[j+1], 64); err == nil {
				sums[flag] += v
			}
			if flag == "--seed" {
				seeds[args[j+1]] = true
			}
		}
	}
	if rate := sums["--rate"]; sums["--connections"] != 23 || math.Abs(rate-0.7*23) > 1e-9 || len(seeds) != 5 {
		t.Errorf("got %v connections, %v requests a second and the seeds %v; want 23, %v and 5 seeds", sums["--connections"], rate, seeds, 0.7*23)
	}
}

func TestAReplacedAgentBesideASubjectCountsNoMore(t *testing.T) {
	r := &Runner{results: &result.Results{Agents: []result.Agent{{Name: "load"}, {Name: "old", Beside: "server", Cores: 2}, {Name: "new", Beside: "server", Cores: 8}}}}
	if a := r.besideAgent("server"); a == nil || a.Name != "new" || a.Cores != 8 {
		t.Errorf("got the agent %+v beside the server, want the new one", a)
	}
	if a := r.besideAgent(""); a != nil {
		t.Errorf("got the agent %+v beside no subject, want none", a)
	}
}
