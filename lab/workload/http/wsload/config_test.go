package wsload

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"weir/lab/internal/tally"
	"weir/lab/load"
)

func TestCheckRejectsInvalidConfigs(t *testing.T) {
	good := Config{URL: "ws://127.0.0.1:8080/echo", Connections: 1, Duration: time.Second}
	for want, change := range map[string]func(*Config){
		"":                             func(*Config) {},
		`the URL "" is invalid`:        func(c *Config) { c.URL = "" },
		`the URL "ws://a@b/"`:          func(c *Config) { c.URL = "ws://a@b/" },
		"is not of WebSocket":          func(c *Config) { c.URL = "http://a/" },
		"are for wss:// URLs":          func(c *Config) { c.TLS.Insecure = true },
		"has no certificate in PEM":    func(c *Config) { c.URL, c.TLS.CA = "wss://a/", []byte("x") },
		"field Upgrade is the gener":   func(c *Config) { c.Headers = []string{"Upgrade: x"} },
		"messages of -1 bytes":         func(c *Config) { c.Size = -1 },
		"messages of 1048577 bytes":    func(c *Config) { c.Size = MaxSize + 1 },
		"have an arrival pattern":      func(c *Config) { c.Pattern = load.Poisson },
		`the pattern "even" is unknow`: func(c *Config) { c.Rate, c.Pattern = 1, "even" },
		"0 connections":                func(c *Config) { c.Connections = 0 },
		"a rate of -1 messages":        func(c *Config) { c.Rate = -1 },
		"a duration of 0s":             func(c *Config) { c.Duration = 0 },
	} {
		c := good
		change(&c)
		err := c.Check(false)
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, load.ErrUsage) || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if good.Duration = 0; good.Check(true) != nil {
		t.Errorf("steered: got %v, want no error", good.Check(true))
	}
}

func TestMessagesDiffer(t *testing.T) {
	p := newPayloads(100, "")
	seen := map[string]bool{}
	for k := range uint64(100) {
		seen[string(p.of(0, k))], seen[string(p.of(1, k))] = true, true
	}
	again := newPayloads(100, "")
	if len(seen) < 180 || string(p.of(3, 4)) != string(again.of(3, 4)) || len(p.of(3, 4)) != 100 {
		t.Errorf("got %d different contents of 200 messages, want at least 180, the same every time and of 100 bytes", len(seen))
	}
}

func TestReportsAreWrittenAsTextAndJSON(t *testing.T) {
	r := Report{URL: "ws://a/", Connections: 3, Rate: 100, Pattern: "staggered", Size: 10, Echo: true, Sent: 200, Received: 199, ReceivedBytes: 1990, Pings: 2, Unclosed: 1, Unfinished: 1,
		Report: load.Report{Offered: 200, Messages: 198, MessageRate: 99, Failed: 1, WindowNS: 2e9, Errors: map[string]int64{"echo": 1}}, EchoUS: tally.Times{Mean: 50, Max: 90}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ws://a/: 3 connections, open loop of 100 binary messages/s of 10 bytes, staggered\n", "  echoes       198 in 2.000 s: 99.0/s\n",
		"  failed       1 of 200, 1 incomplete\n", "  control      2 pings answered, 1 connections not closed by the server\n", "  errors       echo (1)\n", "  latency      mean 50.0 us"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%swant %q in it", b.String(), want)
		}
	}
	for want, change := range map[string]func(*Report){
		"3 connections, closed loop of text messages of 10 bytes": func(r *Report) { r.Rate, r.Text = 0, true },
		"3 connections, nothing is sent":                          func(r *Report) { r.Rate, r.Echo = 0, false },
	} {
		other := r
		if change(&other); other.title() != want {
			t.Errorf("got %q, want %q", other.title(), want)
		}
	}
	text, err := json.Marshal(r)
	var again Report
	if err2 := json.Unmarshal(text, &again); err != nil || err2 != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("got errors %v and %v, and %+v, want %+v", err, err2, again, r)
	}
}

func TestAGivenMessageIsTheOnlyContent(t *testing.T) {
	p := newPayloads(5, "hello")
	if string(p.of(0, 0)) != "hello" || string(p.of(7, 9)) != "hello" {
		t.Errorf("got %q and %q, want the message", p.of(0, 0), p.of(7, 9))
	}
}
