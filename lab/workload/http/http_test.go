package http

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"testing"
	"weir/lab/internal/certificate"
	"weir/lab/load"
	"weir/lab/workload"
	"weir/lab/workload/http/httpload"
)

// TestRatesOfRequestsArePassedInTotal: rates are per connection in an experiment, and in total on
// the command line. The generator does not get Load.Requests, which is only for the report: a trial
// ends by time.
func TestRatesOfRequestsArePassedInTotal(t *testing.T) {
	v := session{www: "/w", certificate: certificate.Files{Cert: "/c.pem"}}
	for _, test := range []struct {
		load *Load
		away bool // the subject runs elsewhere
		want string
	}{
		{&Load{Path: "/4k.html", Common: workload.Common{Rate: 40}}, false, "http --steer --connections 100 --rate 4000 --expect /w/4k.html http://127.0.0.1:80/4k.html"},
		{&Load{Path: "/4k.html", Common: workload.Common{Rate: 40}, Arrivals: load.Poisson}, true, "http --steer --connections 100 --rate 4000 --pattern poisson --seed 7 http://127.0.0.1:80/4k.html"},
		{&Load{Path: "/page.html", NoKeepAlive: true, Requests: 10_000}, false, "http --steer --connections 100 --no-keep-alive --expect /w/page.html http://127.0.0.1:80/page.html"},
		{&Load{Path: "/4k.html", Gzip: true}, true, "http --steer --connections 100 --accept-encoding gzip http://127.0.0.1:80/4k.html"},
		{&Load{Path: "/4k.html", Encryption: Encryption{TLS: true}}, false, "http --steer --connections 100 --expect /w/4k.html --ca /c.pem --key-exchange X25519 https://127.0.0.1:80/4k.html"},
	} {
		to := workload.Target{Addr: "127.0.0.1:80", Elsewhere: test.away, Seed: 7}
		if got := strings.Join(v.Args(test.load, workload.Cell{Connections: 100}, to), " "); got != test.want {
			t.Errorf("got command %q, want %q", got, test.want)
		}
	}
}

// TestClosedLoopsAreEstimatedByTheirSleeps: the rate of a closed loop is not known before it runs.
// The estimate is workload.GuessedRate, or the highest rate that the sleeps allow if that is lower.
func TestClosedLoopsAreEstimatedByTheirSleeps(t *testing.T) {
	for _, test := range []struct {
		load *Load
		want float64
	}{
		{&Load{Common: workload.Common{Rate: 40}}, 4000},
		{&Load{SleepMS: 2000, SleepEvery: 10}, 500},
		// the sleeps allow more: 50,000 requests/s
		{&Load{SleepMS: 20, SleepEvery: 10}, workload.GuessedRate},
		{&Load{}, workload.GuessedRate},
	} {
		if got := test.load.MessageRate(100); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%+v: got %v requests/s, want %v", *test.load, got, test.want)
		}
	}
}

func TestTheSizeOfARequestIsInItsPathOrItsBody(t *testing.T) {
	for _, test := range []struct {
		load *Load
		want string
	}{
		{&Load{Path: "/bytes/{size}", Size: 20}, "GET /bytes/20 with a body of 0"},
		{&Load{Path: "/upload", Size: 20}, "POST /upload with a body of 20"},
		{&Load{Size: 20, Mix: []httpload.Request{{Method: "PUT", Path: "/{size}/{size}", Body: "x"}}}, "PUT /20/20 with a body of 1"},
	} {
		if bad := test.load.Check(workload.Context{Workload: Requests, Connections: []int{1}}); bad != "" {
			t.Errorf("%+v: got %q, want a valid load", *test.load, bad)
		}
		r := test.load.described()[0]
		if got := fmt.Sprintf("%s %s with a body of %d", cmp.Or(r.Method, "GET"), r.Path, len(r.Body)); got != test.want || test.load.Recorded().Size != 20 {
			t.Errorf("%+v: got %s and size %d, want %s and 20", *test.load, got, test.load.Recorded().Size, test.want)
		}
	}
}
