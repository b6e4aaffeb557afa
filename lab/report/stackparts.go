package report

import (
	"fmt"
	"math"
	"strings"

	"weir/lab/result"
)

// coresSection compares a stack on one core with the same stack on all cores.
func (d *digest) coresSection() section {
	s := section{ID: "cores", Title: "One core against all",
		How: "The same operation with one core for the stack and the others for its peer, and with all cores for both. The trials are in different blocks, so the ratio is less exact than a paired one."}
	t := &table{Caption: "All cores compared with one", Align: "llrlrrrr",
		Head: []string{"Operation", "Subject", "Clients", "Measure", "One core", "All cores", "Ratio", "CPU, ratio"}}
	for _, g := range d.groups {
		l := d.loadOf(g.load)
		if l.Operation.Cores != 1 {
			continue
		}
		whole := d.withAllCores(g, l)
		if whole == nil {
			continue
		}
		f, _ := mainOf(l.Operation)
		for _, c := range d.inOrder(g) {
			o := whole.cell(c.subject)
			if o == nil || len(o.trials) == 0 || len(c.trials) == 0 {
				continue
			}
			one, all := estimateOf(c.trials, f.of).mean, estimateOf(o.trials, f.of).mean
			t.add(whole.load, shortName(c.subject), count(g.connections), f.head, sig(one), sig(all), times(all/one), times(o.perMessage.mean/c.perMessage.mean))
		}
	}
	if len(t.Rows) > 0 {
		s.Blocks = []block{{Table: t}}
	}
	return s
}

// withAllCores returns the group that differs from g only in the cores; nil if there is none.
func (d *digest) withAllCores(g *group, l result.Load) *group {
	l.Operation.Cores = 0
	for _, other := range d.groups {
		o := d.loadOf(other.load)
		l.Name, l.Requests = o.Name, o.Requests
		if o == l && other.connections == g.connections {
			return other
		}
	}
	return nil
}

// collectorSection shows the heap growth and the pauses of garbage-collected stacks.
func (d *digest) collectorSection() section {
	s := section{ID: "collector", Title: "Garbage collection",
		How: "For stacks in a garbage-collected language. Heap growth is the median growth of the heap's objects over the window. CPU is the collector's share of the stack's CPU. The longest pause is that of any trial, p99 the median of the trials' 99th percentiles. Pauses are the upper ends of the runtime's histogram buckets."}
	t := &table{Caption: "By load", Align: "llrrrrrr", Head: []string{"Load", "Subject", "Clients", "Heap growth, KB", "Collections/s", "CPU, %", "Longest pause, µs", "p99, µs"}}
	for _, g := range d.groups {
		if len(t.Rows) > 0 {
			t.Groups = append(t.Groups, len(t.Rows))
		}
		for _, c := range d.inOrder(g) {
			if row := c.collections(); row != nil {
				t.add(append([]string{g.load, shortName(c.subject), count(g.connections)}, row...)...)
			}
		}
	}
	if len(t.Rows) > 0 {
		s.Blocks = []block{{Table: t.trim()}}
	}
	return s
}

// collections returns the row of a cell; nil without a garbage collector.
func (c *cell) collections() []string {
	var grown, share, p99 []float64
	most, cycles, seconds := 0.0, 0.0, 0.0
	for _, t := range c.trials {
		s := stackOf(t)
		if s.After == nil {
			continue
		}
		p99 = append(p99, float64(s.After.PausesNS.P99)/1e3)
		most = math.Max(most, float64(s.After.PausesNS.Max)/1e3)
		if s.Before != nil {
			grown = append(grown, float64(s.After.HeapBytes-s.Before.HeapBytes)/1024)
			cycles, seconds = cycles+float64(s.After.Collections-s.Before.Collections), seconds+t.WindowS
		}
		if t.GC != nil {
			share = append(share, t.GC.SharePercent)
		}
	}
	if len(p99) == 0 {
		return nil
	}
	row := []string{absent, absent, absent, sig(most), sig(medianOf(p99))}
	if len(grown) > 0 {
		row[0], row[1] = fixed(medianOf(grown), 0), sig(cycles/seconds)
	}
	if len(share) > 0 {
		row[2] = fixed(medianOf(share), 1)
	}
	return row
}

// paperRow holds figures of "An Implementation and Analysis of a Kernel Network Stack in Go with
// the CSP Style" (paper 002) for its two stacks: tapip, in C with threads, and GoNet, in Go with
// goroutines.
type paperRow struct {
	what         string
	tapip, goNet string
	here         func(d *digest, subject string) string // the figure of this run
}

var paperRows = []paperRow{
	{"Ping, 1 at once, mean, ms", "0.074", "0.234", func(d *digest, s string) string { return d.pingMS(s, 1, false) }},
	{"Ping, 1,000 at once, mean, ms", "3.279", "0.717", func(d *digest, s string) string { return d.pingMS(s, 1000, false) }},
	{"Ping by a process, mean, ms", "0.074", "0.234", func(d *digest, s string) string { return d.pingMS(s, 1, true) }},
	{"Ping by 1,000 processes, mean, ms", "3.279", "0.717", func(d *digest, s string) string { return d.pingMS(s, 1000, true) }},
	{"Connections of 4 kB over its own loopback, 1 client, Mbit/s", "4.6", "7.3", func(d *digest, s string) string { return d.insideMbit(s, 1) }},
	{"The same, 100 clients, Mbit/s", "195.0", "284.9", func(d *digest, s string) string { return d.insideMbit(s, 100) }},
}

// paperSection shows the paper's figures and those of this run.
func (d *digest) paperSection() section {
	s := section{ID: "paper", Title: "The paper's figures",
		How: "The published figures come from another machine and another test. Its pings came from up to 1,000 processes, whose scheduling is part of the mean; its connections used each stack's own loopback. GoNet did not verify checksums, had no congestion control and ignored its peer's window; tapip did not retransmit. The figures cannot rank those stacks against the ones here. Pings here come from one paced sender, except in the rows by processes, which repeat the paper's method."}
	t := &table{Caption: "As published, and here", Align: "lrr", Head: []string{"Measure", "tapip, published", "GoNet, published"}}
	for _, name := range d.subjects {
		t.Head, t.Align = append(t.Head, shortName(name)), t.Align+"r"
	}
	for _, p := range paperRows {
		row, said := []string{p.what, p.tapip, p.goNet}, false
		for _, name := range d.subjects {
			v := p.here(d, name)
			said = said || v != absent
			row = append(row, v)
		}
		if said {
			t.add(row...)
		}
	}
	if len(t.Rows) > 0 {
		s.Blocks = []block{{Table: t.trim()}}
	}
	return s
}

// cellFor returns a subject's cell under the first load with the operation and the number of
// clients; nil if there is none.
func (d *digest) cellFor(subject string, clients int, is func(result.Operation) bool) *cell {
	for _, g := range d.groups {
		if c := g.cell(subject); g.connections == clients && is(d.loadOf(g.load).Operation) && c != nil && len(c.trials) > 0 {
			return c
		}
	}
	return nil
}

// pingMS is the mean time of pings in ms, with n flows of one sender or n processes.
func (d *digest) pingMS(subject string, n int, processes bool) string {
	c := d.cellFor(subject, n, func(o result.Operation) bool {
		return o.Name == result.OperationPing && o.Processes == processes && o.Cores == 0
	})
	if c == nil {
		return absent
	}
	return sig(estimateOf(c.trials, func(t *result.Trial) float64 { return stackOf(t).MeanUS / 1000 }).mean)
}

func (d *digest) insideMbit(subject string, clients int) string {
	c := d.cellFor(subject, clients, func(o result.Operation) bool { return o.Name == result.OperationConnect && o.Inside })
	if c == nil {
		return absent
	}
	return sig(estimateOf(c.trials, func(t *result.Trial) float64 { return 1000 * stackOf(t).GbitS }).mean)
}

// stackLimitsSection lists the limits of the figures.
func (d *digest) stackLimitsSection() section {
	return section{ID: "limitations", Title: "Limitations", How: "What these figures do not show.", Blocks: []block{{Items: []string{
		fmt.Sprintf("The peer's sockets use %s, set for each socket. A stack's own sending is under its own congestion control.", orElse(d.congestion(), "the congestion control of their namespace")),
		"The path has no loss and almost no delay: these figures do not cover long or bad paths.",
		"Stack and peer share one machine. With all cores for both, CPU that one saves is available to the other.",
		"The kernel's own stack has no device and no system calls between its two endpoints, and its memory does not belong to the process.",
		"The CPU time of an interrupt counts for the process that it interrupted.",
		"Confidence intervals describe the noise of this run. They do not cover another kernel, another machine or another version of a runtime.",
	}}}}
}

// congestion returns the congestion control of the peer's sockets.
func (d *digest) congestion() string {
	for i := range d.Trials {
		if c := stackOf(&d.Trials[i]).Congestion; c != "" {
			return strings.ToUpper(c)
		}
	}
	return ""
}

// stacksAnswer is the answer of a run on stacks: for each operation with the fewest clients, a
// comparison of the stacks with the reference.
func (d *digest) stacksAnswer() []string {
	var said []string
	seen := map[string]bool{}
	for _, g := range d.groups {
		o := d.loadOf(g.load).Operation
		if o.Inside || o.Cores > 0 || o.Name == result.OperationIdle || seen[o.Name] {
			continue
		}
		if s := d.operationSentence(g, o); s != "" {
			said, seen[o.Name] = append(said, s), true
		}
	}
	if len(said) == 0 {
		return []string{"No two stacks have accepted trials under the same load, so there is no comparison."}
	}
	return said
}

// operationSentence compares the stacks in one operation: "Bulk in, 1 connection: weir-chain 36
// Gbit/s, 1.7 times gvisor (different), with 0.5 times its CPU (different)."
func (d *digest) operationSentence(g *group, o result.Operation) string {
	var parts []string
	f, metric := mainOf(o)
	for _, c := range d.inOrder(g) {
		v, ok := d.versus(metric, g, c.subject, d.reference())
		cpu, measured := d.versus(result.MetricCPU, g, c.subject, d.reference())
		if len(c.trials) == 0 || c.subject == d.reference() || !ok || !measured || len(parts) == 3 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s, %s times %s (%s), with %s times its CPU (%s)", shortName(c.subject), f.say(estimateOf(c.trials, f.of).mean), times(v.Ratio), shortName(d.reference()), verdictWord(v), times(cpu.Ratio), verdictWord(cpu)))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s: %s.", upper(g.load), d.clients(g), strings.Join(parts, "; "))
}

// clients formats the number of a group's connections with their noun: "10 flows".
func (d *digest) clients(g *group) string {
	many := strings.ToLower(clientsHead(d.loadOf(g.load).Operation))
	one := strings.TrimSuffix(many, "s")
	if many == "processes" {
		one = "process"
	}
	return plural(g.connections, one, many)
}
