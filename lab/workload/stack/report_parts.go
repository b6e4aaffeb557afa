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
	t := &report.Table{Caption: "All cores compared with one", Align: "llrlrrrr",
		Head: []string{"Operation", "Subject", "Clients", "Measure", "One core", "All cores", "Ratio", "CPU, ratio"}}
	for _, g := range d.Groups {
		o := d.LoadOf(g.Load).Operation
		whole := d.Sibling(g, func(own, other result.Load) bool {
			own.Operation.Cores, own.Requests = 0, other.Requests
			return own == other
		})
		if o.Cores != 1 || whole == nil {
			continue
		}
		f, _ := mainOf(o)
		for _, c := range d.inOrder(g) {
			onAll := whole.MeasuredCell(c.Subject)
			if onAll == nil || len(c.Trials) == 0 {
				continue
			}
			one, all := report.EstimateOf(c.Trials, f.of).Mean, report.EstimateOf(onAll.Trials, f.of).Mean
			t.Add(whole.Load, shortName(c.Subject), format.Count(g.Connections), f.head, format.Sig(one), format.Sig(all), format.Times(all/one), format.Times(onAll.PerMessage.Mean/c.PerMessage.Mean))
		}
	}
	return report.Section{ID: "cores", Title: "One core against all",
		How:    "The same operation with one core for the stack and the others for its peer, and with all cores for both. The trials are in different blocks, so the ratio is less exact than a paired one.",
		Blocks: []report.Block{{Table: t}}}
}

// collectorSection shows the heap growth and the pauses of garbage-collected stacks.
func (d digest) collectorSection() report.Section {
	s := report.Section{ID: "collector", Title: "Garbage collection",
		How: "For stacks in a garbage-collected language. Heap growth is the median growth of the heap's objects over the window. CPU is the collector's share of the stack's CPU. The longest pause is that of any trial, p99 the median of the trials' 99th percentiles. Pauses are the upper ends of the runtime's histogram buckets."}
	t := &report.Table{Caption: "By load", Align: "llrrrrrr", Head: []string{"Load", "Subject", "Clients", "Heap growth, KB", "Collections/s", "CPU, %", "Longest pause, µs", "p99, µs"}}
	for _, g := range d.Groups {
		t.StartGroup()
		for _, c := range d.inOrder(g) {
			if row := collections(c); row != nil {
				t.Add(append([]string{g.Load, shortName(c.Subject), format.Count(g.Connections)}, row...)...)
			}
		}
	}
	s.Blocks = []report.Block{{Table: t}}
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
	return []string{format.Fixed(report.MedianOf(grown), 0), format.Sig(cycles / seconds), format.Fixed(report.MedianOf(share), 1), format.Sig(most), format.Sig(report.MedianOf(p99))}
}

// paperRow holds figures of "An Implementation and Analysis of a Kernel Network Stack in Go with
// the CSP Style" (paper 002) for its two stacks: tapip, in C with threads, and GoNet, in Go with
// goroutines.
type paperRow struct {
	what         string
	tapip, goNet string
	clients      int
	is           func(result.Operation) bool
	here         func(result.OnStack) float64 // the figure of a trial of this run
}

var paperRows = []paperRow{
	{"Ping, 1 at once, mean, ms", "0.074", "0.234", 1, isPing, pingMS},
	{"Ping, 1,000 at once, mean, ms", "3.279", "0.717", 1000, isPing, pingMS},
	{"Ping by a process, mean, ms", "0.074", "0.234", 1, isPingProcess, pingMS},
	{"Ping by 1,000 processes, mean, ms", "3.279", "0.717", 1000, isPingProcess, pingMS},
	{"Connections of 4 kB over its own loopback, 1 client, Mbit/s", "4.6", "7.3", 1, isConnectInside, mbit},
	{"The same, 100 clients, Mbit/s", "195.0", "284.9", 100, isConnectInside, mbit},
}

func isPing(o result.Operation) bool {
	return o.Name == result.OperationPing && !o.Processes && o.Cores == 0
}

func isPingProcess(o result.Operation) bool {
	return o.Name == result.OperationPing && o.Processes && o.Cores == 0
}

func isConnectInside(o result.Operation) bool {
	return o.Name == result.OperationConnect && o.Inside
}

func pingMS(s result.OnStack) float64 { return s.MeanUS / 1000 }
func mbit(s result.OnStack) float64   { return 1000 * s.GbitS }

// paperSection shows the paper's figures beside those of this run that were measured.
func (d digest) paperSection() report.Section {
	t := &report.Table{Caption: "As published, and here", Align: "lrr", Head: []string{"Measure", "tapip, published", "GoNet, published"}}
	for _, name := range d.Names {
		t.AddColumn(shortName(name), 'r')
	}
	for _, p := range paperRows {
		row, said := []string{p.what, p.tapip, p.goNet}, false
		for _, name := range d.Names {
			v := d.paperFigure(name, p)
			said = said || v != format.Absent
			row = append(row, v)
		}
		if said {
			t.Add(row...)
		}
	}
	return report.Section{ID: "paper", Title: "The paper's figures",
		How:    "The published figures come from another machine and another test. Its pings came from up to 1,000 processes, whose scheduling is part of the mean; its connections used each stack's own loopback. GoNet did not verify checksums, had no congestion control and ignored its peer's window; tapip did not retransmit. The figures cannot rank those stacks against the ones here. Pings here come from one paced sender, except in the rows by processes, which repeat the paper's method.",
		Blocks: []report.Block{{Table: t}}}
}

// paperFigure is the figure of a subject under the first load of the row's operation.
func (d digest) paperFigure(subject string, p paperRow) string {
	for _, g := range d.Groups {
		if c := g.MeasuredCell(subject); g.Connections == p.clients && p.is(d.LoadOf(g.Load).Operation) && c != nil {
			return format.Sig(report.EstimateOf(c.Trials, func(t *result.Trial) float64 { return p.here(stackOf(t)) }).Mean)
		}
	}
	return format.Absent
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
