package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/lab/load"
)

func TestKneeTakesACriterionOrNone(t *testing.T) {
	const url = "http://a/"
	for _, test := range []struct {
		args []string
		want kneeFlag
	}{
		{[]string{url}, kneeFlag{}},
		{[]string{"--knee", url}, kneeFlag{given: true}},
		{[]string{url, "--knee"}, kneeFlag{given: true}},
		{[]string{"--knee", "--limit", "20ms", url}, kneeFlag{given: true}},
		{[]string{"--knee", "p99 < 20ms", url}, kneeFlag{true, "p99 < 20ms"}},
		{[]string{"--knee=max<1s", url}, kneeFlag{true, "max<1s"}},
		{[]string{url, "--knee", "p50 < 1ms", "--json"}, kneeFlag{true, "p50 < 1ms"}},
	} {
		var c cli
		k, err := newParser(&c, newTerminal(os.Stdout, os.Stderr))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Parse(append([]string{"load", "http"}, test.args...)); err != nil || c.Load.HTTP.Knee != test.want || c.Load.HTTP.URL != url {
			t.Errorf("%q: got error %v, %+v of %q; want %+v", test.args, err, c.Load.HTTP.Knee, c.Load.HTTP.URL, test.want)
		}
	}
}

// echoServer echoes until the test ends.
func echoServer(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { defer c.Close(); io.Copy(c, c) }) //nolint:errcheck // the client sees it
		}
	})
	t.Cleanup(func() { l.Close(); served.Wait() })
	return l.Addr().String()
}

// runStream runs the command and returns what it wrote.
func runStream(t *testing.T, c streamCmd) (text []byte, err error) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	err = c.Run(context.Background(), newTerminal(out, out))
	text, readErr := os.ReadFile(out.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	return text, err
}

// TestLoadStreamSearchesItsKnee checks the probes and not their result, which a busy machine
// decides.
func TestLoadStreamSearchesItsKnee(t *testing.T) {
	quick := 10 * time.Millisecond
	c := streamCmd{Target: echoServer(t), Connections: 2, Size: 100, Echo: true, loadFlags: loadFlags{JSON: true, Duration: &quick, Knee: kneeFlag{true, "max < 1us"}}}
	text, err := runStream(t, c)
	var knee struct {
		Criterion string
		Confirmed bool
		Probes    []struct {
			Rate   float64
			Report struct{ Target string }
		}
	}
	if jsonErr := json.Unmarshal(text, &knee); jsonErr != nil || err == nil || !strings.Contains(err.Error(), "no knee was found") {
		t.Fatalf("got errors %v, %v (JSON), want that no knee was found, in:\n%s", err, jsonErr, text)
	}
	if knee.Criterion != "max < 1µs" || knee.Confirmed || len(knee.Probes) < 2 || knee.Probes[0].Rate != 250 || knee.Probes[0].Report.Target != c.Target {
		t.Errorf("got %+v, want probes from 2 x 125/s on", knee)
	}
	c.Knee.criterion = "p98 < 1s"
	if _, err := runStream(t, c); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), `the criterion "p98 < 1s" is invalid`) {
		t.Errorf("got error %v, want a usage error about the criterion", err)
	}
	c.Echo = false
	if _, err := runStream(t, c); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "give --echo") {
		t.Errorf("a knee without echoes: got error %v, want a usage error", err)
	}
}

func TestReportsWithHistogramsMerge(t *testing.T) {
	quick := 50 * time.Millisecond
	text, err := runStream(t, streamCmd{Target: echoServer(t), Connections: 2, Size: 100, Echo: true, loadFlags: loadFlags{JSON: true, Duration: &quick, Histograms: true}})
	var r load.Report
	if jsonErr := json.Unmarshal(text, &r); jsonErr != nil || err != nil || r.Histograms["latency"] == "" {
		t.Fatalf("got errors %v, %v (JSON), want none, and a histogram of the latency in:\n%s", err, jsonErr, text)
	}
	if all, err := load.Merge(r, r); err != nil || all.Messages != 2*r.Messages || all.LatencyUS != r.LatencyUS || all.GapUS != r.GapUS {
		t.Errorf("got error %v, %+v; want twice the messages of %+v at the same percentiles", err, all, r)
	}
}
