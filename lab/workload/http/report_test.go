package http

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/lab/report"
	"weir/lab/result"
)

// TestLoadsThatDifferInMoreThanTheRateAreNoPartOfTheSweep: a row of rates compares loads that
// differ in nothing else.
func TestLoadsThatDifferInMoreThanTheRateAreNoPartOfTheSweep(t *testing.T) {
	request := result.Requests{Path: "/4k.html"}
	closing, encrypted, random := request, request, request
	closing.NoKeepAlive, encrypted.TLS, random.Pattern = true, true, "poisson"
	run := httpRun("http", "?", "files", servers("http-nginx", "http-go"), []result.Load{
		{Name: "5000/s", Rate: 50, Requests: request},
		{Name: "no keep-alive", Rate: 20, Requests: closing},
		{Name: "TLS", Rate: 50, Requests: encrypted},
		{Name: "5000/s, Poisson", Rate: 50, Requests: random},
		{Name: "8000/s", Rate: 80, Requests: request},
	}, "staggered", "poisson")
	var got []string
	for _, g := range (digest{report.NewDigest(run, Report{})}).sweep() {
		got = append(got, g.Load)
	}
	if len(got) != 2 || got[0] != "5000/s" || got[1] != "8000/s" {
		t.Errorf("got the loads %q in the sweep, want those with keep-alive and evenly spaced, without TLS: 5000/s and 8000/s", got)
	}
	for _, b := range (digest{report.NewDigest(run, Report{})}).sweepSection().Blocks {
		if strings.Contains(b.Text, "ProcChain") {
			t.Error("got the published figures of process networks in a run without one, want none")
		}
	}
}

func TestServersThatEncryptDifferentlyAreNamed(t *testing.T) {
	run := httpRun("requests", "?", "requests", servers("http-nginx", "http-go"), []result.Load{{Name: "5000/s", Rate: 50}}, "staggered")
	encrypt := func(other string) string {
		for i := range run.Trials {
			run.Trials[i].HTTP.TLS = "TLS 1.3, AES"
			if strings.HasPrefix(run.Trials[i].Subject, "http-go") {
				run.Trials[i].HTTP.TLS = other
			}
		}
		return strings.Join(Report{}.Answer(report.NewDigest(run, Report{})).Caveats, " ")
	}
	if got := encrypt("TLS 1.3, AES"); got != "" {
		t.Errorf("the same TLS: got the caveat %q, want none", got)
	}
	want := "The servers encrypt differently, which costs different CPU: http-go by TLS 1.2, RSA; http-nginx by TLS 1.3, AES."
	if got := encrypt("TLS 1.2, RSA"); got != want {
		t.Errorf("two kinds of TLS: got the caveat %q, want %q", got, want)
	}
}

// TestEachSweepHasAFigure: the figure has a curve for each subject, with a point for each value.
func TestEachSweepHasAFigure(t *testing.T) {
	var loads []result.Load
	for _, size := range []int{100, 10_000} {
		for _, streams := range []int{1, 8} {
			loads = append(loads, result.Load{Name: fmt.Sprint(size, streams), SweepOf: "closed loop", Size: size, Requests: result.Requests{HTTP2: true, Streams: streams}})
		}
	}
	loads = append(loads, result.Load{Name: "alone", Rate: 10})
	d := report.NewDigest(httpRun("requests", "?", "requests", servers("http-nginx", "http-go"), loads, "closed", "staggered"), Report{})
	var figures, tables []string
	for _, b := range d.SweepSection("rate").Blocks {
		for _, f := range b.Figures {
			figures = append(figures, f.Title)
		}
		if b.Table != nil {
			tables = append(tables, strings.Join(b.Table.Head, ", "))
		}
	}
	want := []string{
		"Requests/s by streams: closed loop, 100 bytes", "Requests/s by streams: closed loop, 10,000 bytes",
		"Requests/s by size: closed loop, 1 streams", "Requests/s by size: closed loop, 8 streams",
	}
	if !slices.Equal(figures, want) {
		t.Errorf("got the figures %q, want %q", figures, want)
	}
	if len(tables) != 4 || tables[0] != "Subject, 1 streams, 8 streams" || tables[3] != "Subject, 100 bytes, 10,000 bytes" {
		t.Errorf("got tables with the heads %q, want a column for each value", tables)
	}
}
