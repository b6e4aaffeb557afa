package http

import (
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
