package http

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
)

// requestPairs are the pairs of subjects that the HTTP experiments compare: the CPU of the first is
// given as a multiple of the second's.
var requestPairs = [][2]string{
	{"http-weir-chain", "http-fileserver"},
	{"http-weir-network", "http-weir-chain"},
	{"http-weir-pipes", "http-weir-chain"},
	{"http-weir-chain", "http-go"},
	{"http-go-raw", "http-go"},
}

// answer is the answer of a run of HTTP loads: the server with the least CPU, the cost of
// composition, the rates that the servers kept up with, and the loads that cannot rank servers.
func (d digest) answer() []string {
	g := d.representative()[0]
	said := []string{d.leastSentence(g)}
	if pairs := d.requestPairs(g); len(pairs) > 0 {
		said = append(said, strings.Join(pairs, "; ")+".")
	}
	if groups := d.sweep(); len(groups) > 1 {
		said = append(said, d.heldSentence(groups))
	}
	for _, g := range d.ClosedLoops() {
		if d.floored(g) {
			said = append(said, d.flooredSentence(g))
		}
	}
	return said
}

// leastSentence names the server with the least CPU in a group.
func (d digest) leastSentence(g *report.Group) string {
	l, ok := d.Lead(result.MetricCPU, g)
	if !ok {
		return fmt.Sprintf("With %s, no CPU was measured.", d.Caption(g))
	}
	return fmt.Sprintf("With %s, %s.", d.Caption(g), l.Sentence(fmt.Sprintf("used the least CPU (%s µs per request)", format.Sig(l.Value.Mean))))
}

// requestPairs compares at most three pairs of interest in a group.
func (d digest) requestPairs(g *report.Group) []string {
	var said []string
	for _, p := range requestPairs {
		if v, ok := d.Versus(result.MetricCPU, g, p[0], p[1]); ok && len(said) < 3 {
			said = append(said, d.ComparePair(v, result.MetricCPU))
		}
	}
	return said
}

// flooredSentence says that a load could not rank servers.
func (d digest) flooredSentence(g *report.Group) string {
	q := d.LoadOf(g.Load).Requests
	low, high := g.Rates()
	s := fmt.Sprintf("The load \"%s\" cannot rank servers: its sleeps allow %s requests/s", g.Load, format.Short(q.Ceiling(g.Connections)))
	if floor := q.Floor(g.Connections); floor > 0 {
		s += fmt.Sprintf(" (%s in %s s)", format.Count(q.Count), format.Short(floor.Seconds()))
	}
	s += fmt.Sprintf(" with any server; all reached %s", fromTo(low, high))
	if d.isPublished(g) {
		s += " here, and " + publishedRates
	}
	return s + "."
}

// tlsCaveats says which subjects encrypt in another way than others; empty if none does.
func (d digest) tlsCaveats() []string {
	by := map[string][]string{} // names of subjects by their TLS
	for _, g := range d.Groups {
		for _, c := range g.Measured() {
			seen := c.Trials[0].HTTP
			if seen != nil && seen.TLS != "" && !slices.Contains(by[seen.TLS], c.Subject) {
				by[seen.TLS] = append(by[seen.TLS], c.Subject)
			}
		}
	}
	if len(by) < 2 {
		return nil
	}
	var said []string
	for _, how := range slices.Sorted(maps.Keys(by)) {
		said = append(said, format.List(by[how])+" by "+how)
	}
	return []string{"The servers encrypt differently, which costs different CPU: " + strings.Join(said, "; ") + "."}
}
