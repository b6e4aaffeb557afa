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

// What reports on HTTP loads have of their own: their loads differ in rate and in what the server
// is told to do, and not in how messages arrive.

// requestSections is the sections of such a report.
func (d *digest) requestSections() []section {
	return []section{
		d.sweepSection(), d.closedSection(), d.filtersSection(), d.gzipSection(), d.costSection(), d.timeSection(), d.rulersSection(),
		d.floorSection(), d.memorySection(), d.trialsSection(), d.ratiosSection(), d.twinSection(), d.windowsSection(),
		d.subjectsSection(), d.offeredSection(), d.refusalsSection(), d.coldSection(), d.machineSection(), d.limitationsSection(), d.commandSection(),
	}
}

// costSection ranks the subjects under every load.
func (d *digest) costSection() section {
	return section{ID: "cost", Title: "CPU per request",
		How:    "Of the server's whole process tree, cheapest first. Generator and Machine are the CPU of the load generator and of the whole machine per request, in the same trials. " + d.correction(result.MetricCPU),
		Blocks: d.perGroupTable(d.rankTable)}
}

// loadOf is a load of the plan; only its name where the plan has none such.
func (d *digest) loadOf(name string) result.Load {
	for _, l := range d.Plan.Loads {
		if l.Name == name {
			return l
		}
	}
	return result.Load{Name: name}
}

// attempted is the requests a second that a group was offered, NaN in a closed loop.
func (d *digest) attempted(g *group) float64 {
	if g.pattern == result.Closed {
		return math.NaN()
	}
	return d.loadOf(g.load).Rate * float64(g.connections)
}

// without finds the group that differs from g by one setting of its load alone.
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

// requestsOf is what became of a trial's requests; nothing where it had none.
func requestsOf(t *result.Trial) result.HTTP {
	if t.HTTP == nil {
		return result.HTTP{}
	}
	return *t.HTTP
}

// rate is the requests a second that were answered whole and right.
func (c *cell) rate() estimate { return estimateOf(c.trials, (*result.Trial).Rate) }

// ms is a percentile of the time to the answer in milliseconds, the median of the trials.
func (c *cell) ms(of func(result.Percentiles) float64) float64 {
	if len(c.trials) == 0 {
		return math.NaN()
	}
	return median(c.trials, func(t *result.Trial) float64 { return of(t.LatencyUS) / 1000 })
}

func p50(p result.Percentiles) float64 { return p.P50 }
func p99(p result.Percentiles) float64 { return p.P99 }

// answered is the answers in the windows of a subject's trials as a share of the requests that were
// due in them, NaN where none was counted.
func (c *cell) answered() float64 {
	got, of := 0.0, 0.0
	for _, t := range c.trials {
		if t.HTTP != nil {
			got, of = got+float64(t.Messages), of+float64(t.HTTP.Attempted)
		}
	}
	return min(1, got/of)
}

// errorKinds is how often each kind of error was seen in all accepted trials, their warm-ups
// included, "timeout 12, reset 3"; empty without any.
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

// wrong is the share of its requests that failed.
func (c *cell) wrong() float64 {
	failed, of := 0.0, 0.0
	for _, t := range c.trials {
		q := requestsOf(t)
		failed, of = failed+float64(q.Failed), of+float64(q.Attempted)
	}
	return failed / of
}

// telling is the group that figures show when they can show only one: the highest rate that every
// subject answered, else the first.
func (d *digest) telling() []*group {
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

// describeRequests is a load in words: "40 requests/s per connection for /4k.html".
func describeRequests(l result.Load) string {
	s := fmt.Sprintf("%s requests/s per connection for %s", short(l.Rate), l.Requests.Path)
	if l.Rate == 0 {
		s = "a closed loop for " + l.Requests.Path
	}
	if l.Requests.Count > 0 {
		s += fmt.Sprintf(", %s requests", count(l.Requests.Count))
	}
	if l.Requests.NoKeepAlive {
		s += ", a connection for each"
	}
	if l.Requests.SleepEvery > 0 {
		s += fmt.Sprintf(", one in %d sleeps %s ms", l.Requests.SleepEvery, count(l.Requests.SleepMS))
	}
	if l.Requests.Filters > 0 {
		s += ", " + plural(l.Requests.Filters, "component passes everything through", "components pass everything through")
	}
	if l.Requests.Gzip {
		s += ", compressed"
	}
	if l.Requests.Cold {
		s += ", no warm-up"
	}
	return s
}
