package report

import (
	"strings"
	"testing"

	"weir/lab/result"
)

// TestRatesOfOtherConnectionsAreNoPartOfTheSweep: a row of rates compares loads that differ in
// nothing else.
func TestRatesOfOtherConnectionsAreNoPartOfTheSweep(t *testing.T) {
	request := result.Requests{Path: "/4k.html"}
	closing, encrypted := request, request
	closing.NoKeepAlive, encrypted.TLS = true, true
	run := httpRun("http", "?", "files", servers("http-nginx", "http-go"), []result.Load{
		{Name: "5000/s", Rate: 50, Requests: request},
		{Name: "no keep-alive", Rate: 20, Requests: closing},
		{Name: "TLS", Rate: 50, Requests: encrypted},
		{Name: "8000/s", Rate: 80, Requests: request},
	}, "staggered")
	var got []string
	for _, g := range digestOf(run).sweep() {
		got = append(got, g.load)
	}
	if len(got) != 2 || got[0] != "5000/s" || got[1] != "8000/s" {
		t.Errorf("got the loads %q in the sweep, want those with keep-alive and without TLS: 5000/s and 8000/s", got)
	}
	for _, b := range digestOf(run).sweepSection().Blocks {
		if strings.Contains(b.Text, "ProcChain") {
			t.Error("got the published figures of process networks in a run without one, want none")
		}
	}
}
