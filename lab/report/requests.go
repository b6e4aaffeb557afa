package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"weir/lab/result"
)

// requestSections returns the sections of a report on HTTP servers. Their loads differ in the rate
// and in the server's work, not in the arrival pattern.
func (d *digest) requestSections() []section {
	return []section{
		d.sweepSection(), d.closedSection(), d.filtersSection(), d.gzipSection(), d.costSection(), d.ratiosSection(), d.controlSection(), d.rejectionsSection(),
		d.floorSection(), d.memorySection(), d.timeSection(), d.trialsSection(), d.accountingSection(), d.windowsSection(),
		d.subjectsSection(), d.offeredSection(), d.coldSection(), d.machineSection(), d.limitationsSection(), d.commandSection(),
	}
}

// costSection ranks the subjects under every load.
func (d *digest) costSection() section {
	return section{ID: "cost", Title: "CPU per request",
		How:    "CPU of the server's whole process tree, lowest first. Generator and Machine are the CPU of the load generator and of the whole machine per request, in the same trials. " + d.correction(result.MetricCPU),
		Blocks: d.perGroupTable(d.rankTable)}
}

// loadOf returns a load of the plan; only its name if the plan has none of that name.
func (d *digest) loadOf(name string) result.Load {
	for _, l := range d.Plan.Loads {
		if l.Name == name {
			return l
		}
	}
	return result.Load{Name: name}
}

// attempted returns the requests per second that a group was offered; NaN in a closed loop.
func (d *digest) attempted(g *group) float64 {
	if g.pattern == result.Closed {
		return math.NaN()
	}
	return d.loadOf(g.load).Rate * float64(g.connections)
}

// without returns the group that differs from g only in one setting of its load, which unset
// clears; nil if there is none.
func (d *digest) without(g *group, unset func(*result.Requests)) *group {
	want := d.loadOf(g.load)
	unset(&want.Requests)
	for _, other := range d.groups {
		l := d.loadOf(other.load)
		want.Name = l.Name
		if l == want && other != g && other.connections == g.connections && other.pattern == g.pattern {
			return other
		}
	}
	return nil
}

// requestsOf returns the outcomes of a trial's requests, or zeros if it has none.
func requestsOf(t *result.Trial) result.HTTP {
	if t.HTTP == nil {
		return result.HTTP{}
	}
	return *t.HTTP
}

// rate returns the completely and correctly answered requests per second.
func (c *cell) rate() estimate { return estimateOf(c.trials, (*result.Trial).Rate) }

// ms returns the median over the trials of a percentile of the latency, in milliseconds.
func (c *cell) ms(of func(result.Percentiles) float64) float64 {
	if len(c.trials) == 0 {
		return math.NaN()
	}
	return median(c.trials, func(t *result.Trial) float64 { return of(t.LatencyUS) / 1000 })
}

func p50(p result.Percentiles) float64 { return p.P50 }
func p99(p result.Percentiles) float64 { return p.P99 }

// answered returns the share of the due requests that were answered in the windows of a subject's
// trials; NaN if none was due.
func (c *cell) answered() float64 {
	got, of := 0.0, 0.0
	for _, t := range c.trials {
		if t.HTTP != nil {
			got, of = got+float64(t.Messages), of+float64(t.HTTP.Attempted)
		}
	}
	return min(1, got/of)
}

// errorKinds formats the errors of all accepted trials by kind, including the warm-ups: "timeout
// 12, reset 3".
func (c *cell) errorKinds() string {
	kinds := map[string]int64{}
	for _, t := range c.trials {
		for k, n := range requestsOf(t).Errors {
			kinds[k] += n
		}
	}
	words := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int { return cmp.Or(cmp.Compare(kinds[b], kinds[a]), cmp.Compare(a, b)) })
	for i, k := range words {
		words[i] = k + " " + count(kinds[k])
	}
	return strings.Join(words, ", ")
}

// failedShare returns the share of failed requests.
func (c *cell) failedShare() float64 {
	failed, of := 0.0, 0.0
	for _, t := range c.trials {
		q := requestsOf(t)
		failed, of = failed+float64(q.Failed), of+float64(q.Attempted)
	}
	return failed / of
}

// representative returns the group that figures and sentences use if they cover only one load: the
// highest rate that every subject answered, or the first group.
func (d *digest) representative() []*group {
	if len(d.groups) == 0 {
		return nil
	}
	g := d.groups[0]
	for _, at := range d.sweep() {
		if !slices.ContainsFunc(at.cells, func(c *cell) bool { return !(c.answered() >= nearlyAll) }) {
			g = at
		}
	}
	return []*group{g}
}

// describeRequests describes a load: "40 requests/s per connection for /4k.html".
func describeRequests(l result.Load) string {
	s := fmt.Sprintf("%s requests/s per connection for %s", short(l.Rate), l.Requests.Path)
	if l.Rate == 0 {
		s = "a closed loop for " + l.Requests.Path
	}
	if l.Requests.Pattern != "" {
		s += ", arrivals " + patternName(l.Requests.Pattern)
	}
	if l.Requests.Count > 0 {
		s += fmt.Sprintf(", %s requests", count(l.Requests.Count))
	}
	if l.Requests.NoKeepAlive {
		s += ", a connection for each"
	}
	if l.Requests.TLS {
		s += ", by TLS"
	}
	if l.Requests.SleepEvery > 0 {
		s += fmt.Sprintf(", one in %d sleeps %s ms", l.Requests.SleepEvery, count(l.Requests.SleepMS))
	}
	if l.Requests.Filters > 0 {
		s += ", " + plural(l.Requests.Filters, "pass-through component", "pass-through components")
	}
	if l.Requests.Gzip {
		s += ", compressed"
	}
	if l.Requests.Cold {
		s += ", no warm-up"
	}
	return s
}
