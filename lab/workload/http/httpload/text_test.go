package httpload

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"weir/lab/load"
	"weir/lab/result"
)

func example() Report {
	return Report{URL: "http://127.0.0.1:8080/", Connections: 64, Rate: 5000, Pattern: "poisson", KeepAlive: true, Attempted: 9995, BodyBytes: 40_000_000, Encoded: 7, Opened: 66,
		Report: load.Report{OfferedRate: 5000, MessageRate: 4990, AchievedRatio: 0.998, Offered: 10000, Messages: 9980, Answered: 9990, Failed: 10, Bytes: 42_000_000, Behind: 12,
			LatenessUS: result.Percentiles{P01: 5, P50: 20, P99: 40, P999: 250, Max: 1000}, LatencyUS: result.Percentiles{P50: 100, P99: 2000, Max: 9000},
			Errors: map[string]int64{"timeout": 4, "status": 6}, Details: []string{"connection 3: status 500"},
			CPUNS: 400_000_000, RunQueueNS: 20_000_000, WindowNS: 2_000_000_000, StartedNS: 7},
		ConnectUS: Times{Min: 20, Mean: 30.5, SD: 2, Median: 30, Max: 90}, WaitUS: Times{Min: 50}, ProcessingUS: Times{Min: 55}, TotalUS: Times{Min: 56, Median: 70, Max: 8000},
		DueUS: Times{Min: 57, Median: 100, P66: 110, P75: 120, P80: 130, P90: 200, P95: 500, P98: 900, P99: 2000, P999: 5000, Max: 9000}}
}

const wantText = `http://127.0.0.1:8080/: 64 connections, open loop of 5000 requests/s, Poisson arrivals
  offered      5000.0 requests/s for 2 s: 10000, 99.80 % of it achieved
  lateness     p1 5.0 us, p50 20.0 us, p99 40.0 us, p99.9 250 us, max 1.000 ms
  behind       12 found their connection full or busy
  answers      9980 in 2.000 s: 4990.0/s
  failed       10 of 10000, 0 incomplete
  bytes        42000000, of which bodies 40000000: 21.00 MB/s
               7 bodies in gzip
  connections  66 opened

  ms                 min      mean        sd    median       max
  connect          0.020     0.030     0.002     0.030     0.090
  processing       0.055     0.000     0.000     0.000     0.000
  waiting          0.050     0.000     0.000     0.000     0.000
  total            0.056     0.000     0.000     0.070     8.000
  from due         0.057     0.000     0.000     0.100     9.000

  % within ms        50       66       75       80       90       95       98       99     99.9      100
  from due        0.100    0.110    0.120    0.130    0.200    0.500    0.900    2.000    5.000    9.000

  own CPU      0.200 of a core, waited 0.010 for one; 40.08 us for each answer
  errors       status (6), timeout (4)
               connection 3: status 500
`

func TestTheTextOfHTTPSHasItsParametersAndHandshakes(t *testing.T) {
	r := example()
	r.TLS = &TLSReport{Version: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", KeyExchange: "X25519", ALPN: "http/1.1", ServerName: "example.org", Verified: true,
		Handshakes: 66, Resumed: 2, HandshakeUS: Times{Min: 300, Mean: 400, SD: 10, Median: 390, Max: 900}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  TLS          TLS 1.3, TLS_AES_128_GCM_SHA256, X25519, ALPN http/1.1, certificate for example.org verified\n",
		"  handshakes   66, of which 2 resumed a session\n", "  handshake        0.300     0.400     0.010     0.390     0.900\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%swant %q in it", b.String(), want)
		}
	}
	r.TLS.Verified, r.TLS.ALPN, r.TLS.KeyExchange = false, "", ""
	if got, want := r.TLS.Text(), "TLS 1.3, TLS_AES_128_GCM_SHA256, no ALPN, certificate for example.org not verified"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReportIsWrittenAsText(t *testing.T) {
	r := example()
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || b.String() != wantText {
		t.Errorf("got error %v and\n%swant\n%s", err, b.String(), wantText)
	}
}

func TestTheTextHasEachDescribedRequest(t *testing.T) {
	r := example()
	r.Described, r.Mix = 2, []MixReport{{Request: "GET /a", Answered: 7, LatencyMeanUS: 1500, LatencyMaxUS: 2000}, {Request: "POST /b", Failed: 3}}
	var b strings.Builder
	want := "  requests     GET /a: 7 answered in 1.500 ms on average, at most 2.000; 0 failed\n" +
		"               POST /b: 0 answered in 0.000 ms on average, at most 0.000; 3 failed\n"
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("got error %v and\n%swant none and\n%s", err, b.String(), want)
	}
}

func TestTitlesDescribeTheLoad(t *testing.T) {
	for want, change := range map[string]func(*Report){
		"64 connections, closed loop": func(r *Report) { r.Rate = 0 },
		"64 at once, a connection for each, open loop of 5000 requests/s, Poisson arrivals":                func(r *Report) { r.KeepAlive = false },
		"64 connections, open loop of 5000 requests/s, evenly spaced":                                      func(r *Report) { r.Pattern = "staggered" },
		"64 connections of HTTP/2 with 10 requests at once, closed loop":                                   func(r *Report) { r.Rate, r.Streams = 0, 10 },
		"64 connections, closed loop, 3 described requests":                                                func(r *Report) { r.Rate, r.Described = 0, 3 },
		"64 connections, open loop of 5000 requests/s, all connections together (stopped after 10 errors)": func(r *Report) { r.Pattern, r.Stopped = "together", "after 10 errors" },
	} {
		r := example()
		if change(&r); r.title() != want {
			t.Errorf("got %q, want %q", r.title(), want)
		}
	}
}

func TestReportsAreTheSameAfterJSON(t *testing.T) {
	r := example()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("got error %v and %+v, want %+v", err, again, r)
	}
}
