package stack

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
)

// coresSection compares a stack on one core with the same stack on all cores.
func (d digest) coresSection() report.Section {
	s := report.Section{ID: "cores", Title: "One core against all",
		How: "The same operation with one core for the stack and the others for its peer, and with all cores for both. The trials are in different blocks, so the ratio is less exact than a paired one."}
	t := &report.Table{Caption: "All cores compared with one", Align: "llrlrrrr",
		Head: []string{"Operation", "Subject", "Clients", "Measure", "One core", "All cores", "Ratio", "CPU, ratio"}}
	for _, g := range d.Groups {
		l := d.LoadOf(g.Load)
		if l.Operation.Cores != 1 {
			continue
		}
		whole := d.withAllCores(g, l)
		if whole == nil {
			continue
		}
		f, _ := mainOf(l.Operation)
		for _, c := range d.inOrder(g) {
			o := whole.Cell(c.Subject)
			if o == nil || len(o.Trials) == 0 || len(c.Trials) == 0 {
				continue
			}
			one, all := report.EstimateOf(c.Trials, f.of).Mean, report.EstimateOf(o.Trials, f.of).Mean
			t.Add(whole.Load, shortName(c.Subject), format.Count(g.Connections), f.head, format.Sig(one), format.Sig(all), format.Times(all/one), format.Times(o.PerMessage.Mean/c.PerMessage.Mean))
		}
	}
	if len(t.Rows) > 0 {
		s.Blocks = []report.Block{{Table: t}}
	}
	return s
}

// withAllCores returns the group that differs from g only in the cores; nil if there is none.
func (d digest) withAllCores(g *report.Group, l result.Load) *report.Group {
	l.Operation.Cores = 0
	for _, other := range d.Groups {
		o := d.LoadOf(other.Load)
		l.Name, l.Requests = o.Name, o.Requests
		if o == l && other.Connections == g.Connections {
			return other
		}
	}
	return nil
}

// collectorSection shows the heap growth and the pauses of garbage-collected stacks.
func (d digest) collectorSection() report.Section {
	s := report.Section{ID: "collector", Title: "Garbage collection",
		How: "For stacks in a garbage-collected language. Heap growth is the median growth of the heap's objects over the window. CPU is the collector's share of the stack's CPU. The longest pause is that of any trial, p99 the median of the trials' 99th percentiles. Pauses are the upper ends of the runtime's histogram buckets."}
	t := &report.Table{Caption: "By load", Align: "llrrrrrr", Head: []string{"Load", "Subject", "Clients", "Heap growth, KB", "Collections/s", "CPU, %", "Longest pause, µs", "p99, µs"}}
	for _, g := range d.Groups {
		if len(t.Rows) > 0 {
			t.Groups = append(t.Groups, len(t.Rows))
		}
		for _, c := range d.inOrder(g) {
			if row := collections(c); row != nil {
				t.Add(append([]string{g.Load, shortName(c.Subject), format.Count(g.Connections)}, row...)...)
			}
		}
	}
	if len(t.Rows) > 0 {
		s.Blocks = []report.Block{{Table: t.Trim()}}
	}
	return s
}

// collections returns the row of a cell; nil without a garbage collector.
func collections(c *report.Cell) []string {
	var grown, share, p99 []float64
	most, cycles, seconds := 0.0, 0.0, 0.0
	for _, t := range c.Trials {
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
	row := []string{format.Absent, format.Absent, format.Absent, format.Sig(most), format.Sig(report.MedianOf(p99))}
	if len(grown) > 0 {
		row[0], row[1] = format.Fixed(report.MedianOf(grown), 0), format.Sig(cycles/seconds)
	}
	if len(share) > 0 {
		row[2] = format.Fixed(report.MedianOf(share), 1)
	}
	return row
}

// paperRow holds figures of "An Implementation and Analysis of a Kernel Network Stack in Go with
// the CSP Style" (paper 002) for its two stacks: tapip, in C with threads, and GoNet, in Go with
// goroutines.
type paperRow struct {
	what         string
	tapip, goNet string
	here         func(d digest, subject string) string // the figure of this run
}

var paperRows = []paperRow{
	{"Ping, 1 at once, mean, ms", "0.074", "0.234", func(d digest, s string) string { return d.pingMS(s, 1, false) }},
	{"Ping, 1,000 at once, mean, ms", "3.279", "0.717", func(d digest, s string) string { return d.pingMS(s, 1000, false) }},
	{"Ping by a process, mean, ms", "0.074", "0.234", func(d digest, s string) string { return d.pingMS(s, 1, true) }},
	{"Ping by 1,000 processes, mean, ms", "3.279", "0.717", func(d digest, s string) string { return d.pingMS(s, 1000, true) }},
	{"Connections of 4 kB over its own loopback, 1 client, Mbit/s", "4.6", "7.3", func(d digest, s string) string { return d.insideMbit(s, 1) }},
	{"The same, 100 clients, Mbit/s", "195.0", "284.9", func(d digest, s string) string { return d.insideMbit(s, 100) }},
}

// paperSection shows the paper's figures and those of this run.
func (d digest) paperSection() report.Section {
	s := report.Section{ID: "paper", Title: "The paper's figures",
		How: "The published figures come from another machine and another test. Its pings came from up to 1,000 processes, whose scheduling is part of the mean; its connections used each stack's own loopback. GoNet did not verify checksums, had no congestion control and ignored its peer's window; tapip did not retransmit. The figures cannot rank those stacks against the ones here. Pings here come from one paced sender, except in the rows by processes, which repeat the paper's method."}
	t := &report.Table{Caption: "As published, and here", Align: "lrr", Head: []string{"Measure", "tapip, published", "GoNet, published"}}
	for _, name := range d.Names {
		t.Head, t.Align = append(t.Head, shortName(name)), t.Align+"r"
	}
	for _, p := range paperRows {
		row, said := []string{p.what, p.tapip, p.goNet}, false
		for _, name := range d.Names {
			v := p.here(d, name)
			said = said || v != format.Absent
			row = append(row, v)
		}
		if said {
			t.Add(row...)
		}
	}
	if len(t.Rows) > 0 {
		s.Blocks = []report.Block{{Table: t.Trim()}}
	}
	return s
}

// cellFor returns a subject's cell under the first load with the operation and the number of
// clients; nil if there is none.
func (d digest) cellFor(subject string, clients int, is func(result.Operation) bool) *report.Cell {
	for _, g := range d.Groups {
		if c := g.Cell(subject); g.Connections == clients && is(d.LoadOf(g.Load).Operation) && c != nil && len(c.Trials) > 0 {
			return c
		}
	}
	return nil
}

// pingMS is the mean time of pings in ms, with n flows of one sender or n processes.
func (d digest) pingMS(subject string, n int, processes bool) string {
	c := d.cellFor(subject, n, func(o result.Operation) bool {
		return o.Name == result.OperationPing && o.Processes == processes && o.Cores == 0
	})
	if c == nil {
		return format.Absent
	}
	return format.Sig(report.EstimateOf(c.Trials, func(t *result.Trial) float64 { return stackOf(t).MeanUS / 1000 }).Mean)
}

func (d digest) insideMbit(subject string, clients int) string {
	c := d.cellFor(subject, clients, func(o result.Operation) bool { return o.Name == result.OperationConnect && o.Inside })
	if c == nil {
		return format.Absent
	}
	return format.Sig(report.EstimateOf(c.Trials, func(t *result.Trial) float64 { return 1000 * stackOf(t).GbitS }).Mean)
}

// limitationsSection lists the limits of the figures.
func (d digest) limitationsSection() report.Section {
	return report.Section{ID: "limitations", Title: "Limitations", How: "What these figures do not show.", Blocks: []report.Block{{Items: []string{
		fmt.Sprintf("The peer's sockets use %s, set for each socket. A stack's own sending is under its own congestion control.", cmp.Or(d.congestion(), "the congestion control of their namespace")),
		"The path has no loss and almost no delay: these figures do not cover long or bad paths.",
		"Stack and peer share one machine. With all cores for both, CPU that one saves is available to the other.",
		"The kernel's own stack has no device and no system calls between its two endpoints, and its memory does not belong to the process.",
		"The CPU time of an interrupt counts for the process that it interrupted.",
		"Confidence intervals describe the noise of this run. They do not cover another kernel, another machine or another version of a runtime.",
	}}}}
}

// congestion returns the congestion control of the peer's sockets.
func (d digest) congestion() string {
	for i := range d.Trials {
		if c := stackOf(&d.Trials[i]).Congestion; c != "" {
			return strings.ToUpper(c)
		}
	}
	return ""
}

// answer is the answer of a run on stacks: for each operation with the fewest clients, a
// comparison of the stacks with the reference.
func (d digest) answer() []string {
	var said []string
	seen := map[string]bool{}
	for _, g := range d.Groups {
		o := d.LoadOf(g.Load).Operation
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
func (d digest) operationSentence(g *report.Group, o result.Operation) string {
	var parts []string
	f, metric := mainOf(o)
	for _, c := range d.inOrder(g) {
		v, ok := d.Versus(metric, g, c.Subject, d.reference())
		cpu, measured := d.Versus(result.MetricCPU, g, c.Subject, d.reference())
		if len(c.Trials) == 0 || c.Subject == d.reference() || !ok || !measured || len(parts) == 3 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s, %s times %s (%s), with %s times its CPU (%s)", shortName(c.Subject), f.say(report.EstimateOf(c.Trials, f.of).Mean), format.Times(v.Ratio), shortName(d.reference()), report.VerdictWord(v), format.Times(cpu.Ratio), report.VerdictWord(cpu)))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s: %s.", format.Upper(g.Load), d.clients(g), strings.Join(parts, "; "))
}

// clients formats the number of a group's connections with their noun: "10 flows".
func (d digest) clients(g *report.Group) string {
	many := strings.ToLower(clientsHead(d.LoadOf(g.Load).Operation))
	one := strings.TrimSuffix(many, "s")
	if many == "processes" {
		one = "process"
	}
	return format.Plural(g.Connections, one, many)
}
