package report

import (
	"fmt"
	"strings"

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

// requestsAnswer is the answer of a run of HTTP loads: the server with the least CPU, the cost of
// composition, the rates that the servers kept up with, and the loads that cannot rank servers.
func (d *digest) requestsAnswer() []string {
	g := d.representative()[0]
	said := []string{d.leastSentence(g)}
	if pairs := d.requestPairs(g); len(pairs) > 0 {
		said = append(said, strings.Join(pairs, "; ")+".")
	}
	if groups := d.sweep(); len(groups) > 1 {
		said = append(said, d.heldSentence(groups))
	}
	for _, g := range d.loops() {
		if d.floored(g) {
			said = append(said, d.flooredSentence(g))
		}
	}
	return said
}

// leastSentence names the server with the least CPU in a group.
func (d *digest) leastSentence(g *group) string {
	l, ok := d.lead(result.MetricCPU, g)
	if !ok {
		return fmt.Sprintf("With %s, no CPU was measured.", d.caption(g))
	}
	return fmt.Sprintf("With %s, %s.", d.caption(g), l.sentence(fmt.Sprintf("used the least CPU (%s µs per request)", sig(l.value.mean))))
}

// requestPairs compares at most three pairs of interest in a group.
func (d *digest) requestPairs(g *group) []string {
	var said []string
	for _, p := range requestPairs {
		if v, ok := d.versus(result.MetricCPU, g, p[0], p[1]); ok && len(said) < 3 {
			said = append(said, d.comparePair(v, result.MetricCPU))
		}
	}
	return said
}

// flooredSentence says that a load could not rank servers.
func (d *digest) flooredSentence(g *group) string {
	l := d.loadOf(g.load)
	low, high := g.rates()
	s := fmt.Sprintf("The load \"%s\" cannot rank servers: its sleeps allow %s requests/s", g.load, short(l.Requests.Ceiling(g.connections)))
	if floor := l.Requests.Floor(g.connections); floor > 0 {
		s += fmt.Sprintf(" (%s in %s s)", count(l.Requests.Count), short(floor.Seconds()))
	}
	s += fmt.Sprintf(" with any server; all reached %s", fromTo(low, high))
	if isPublished(l, g.connections) {
		s += " here, and " + publishedRates
	}
	return s + "."
}
