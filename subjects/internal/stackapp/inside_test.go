package stackapp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestInsideMeasuresEachOperation(t *testing.T) {
	for _, operation := range []string{Connect, Bulk, RR} {
		t.Run(operation, func(t *testing.T) {
			r, err := Inside(t.Context(), InsideConfig{Operation: operation, Connections: 3, Duration: 300 * time.Millisecond}, Kernel(netip.Addr{}))
			if err != nil {
				t.Fatal(err)
			}
			if r.Messages == 0 || r.Bytes == 0 || r.GbitS <= 0 || len(r.Errors) != 0 || r.CPUNS <= 0 || r.WindowNS < 300e6 || r.WarmNS < 75e6 {
				t.Errorf("got %+v, want messages, bytes, a rate, CPU time, no errors, a window of 300 ms and a warm-up of 75 ms at least", r)
			}
			if times := r.LatencyUS; (operation != Bulk) != (times.P50 > 0) || times.P50 > times.Max || r.MeanUS > times.Max {
				t.Errorf("got times %+v, mean %v, want a median for %s exactly if not bulk, and no mean or median above the maximum", times, r.MeanUS, operation)
			}
		})
	}
}

func TestFailedOperationsAreCounted(t *testing.T) {
	s := Kernel(netip.Addr{})
	s.Dial = func(context.Context, int) (net.Conn, error) { return nil, errors.New("no service there") }
	r, err := Inside(t.Context(), InsideConfig{Operation: RR, Connections: 1, Duration: 50 * time.Millisecond}, s)
	if err != nil || r.Messages != 0 || r.Errors["no service there"] == 0 {
		t.Errorf("dialling that fails: got %+v (%v), want 0 messages and the errors counted", r, err)
	}
	s.Dial = nil
	if _, err := Inside(t.Context(), InsideConfig{Operation: RR, Connections: 1, Duration: time.Second}, s); err == nil {
		t.Error("a stack without Dial: got a measurement, want an error")
	}
}

func TestHistogramKeepsPercentilesWithin2Percent(t *testing.T) {
	for bucket := range len(histogram{}.buckets) - 128 {
		if low := lowest(bucket); bucketOf(low) != bucket || bucketOf(lowest(bucket+1)-1) != bucket {
			t.Fatalf("bucket %d: got its lowest value %d in bucket %d, its last in %d, want both in the bucket", bucket, low, bucketOf(low), bucketOf(lowest(bucket+1)-1))
		}
	}
	var h histogram
	var all []int64
	for range 10_000 {
		ns := int64(rand.ExpFloat64() * 50e3)
		all = append(all, ns)
		h.record(time.Duration(ns))
	}
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.99, 0.999} {
		got, want := float64(h.percentile(q)), float64(all[int(q*10_000)-1])
		if got < want*0.983-1 || got > want*1.017+1 {
			t.Errorf("the quantile %v is %v, want %v", q, got, want)
		}
	}
	if p := (&histogram{}).percentiles(); p != (Percentiles{}) {
		t.Errorf("percentiles of an empty histogram: got %+v, want zeros", p)
	}
}

func TestFlagsAreParsedAndInvalidOnesRejected(t *testing.T) {
	var way string
	own := func(f *flag.FlagSet) { f.StringVar(&way, "run", "chain", "") }
	o, err := parse(strings.Fields("--tap tap0 --addr 10.1.0.2/16 --mtu 9000 --offload off --cores 2 --run network"), own)
	want := Options{TAP: "tap0", Addr: netip.MustParsePrefix("10.1.0.2/16"), MTU: 9000, Cores: 2, inside: o.inside}
	if err != nil || o != want || o.Inside() || way != "network" {
		t.Errorf("%+v, %v; want %+v", o, err, want)
	}
	for args, want := range map[string]string{
		"more":                          `unexpected argument "more"`,
		"--run on":                      "run",
		"--addr 10.0.0.1":               "--addr must be",
		"--addr ::1":                    "--addr must be",
		"--mtu 60":                      "--mtu must be",
		"--offload maybe":               "--offload must be",
		"--cores -1":                    "--cores must be",
		"--inside ping":                 "--inside must be",
		"--inside rr --connections 0":   "--connections must be",
		"--inside bulk --duration 0s":   "--duration must be",
		"--inside bulk --warm -1s":      "--warm from",
		"--inside rr --duration 5m xyz": `unexpected argument "xyz"`,
	} {
		if _, err := parse(strings.Fields(args), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

func TestTheReportIsOneLineOfJSON(t *testing.T) {
	o, err := parse(strings.Fields("--inside rr --connections 2 --duration 50ms --warm 10ms"), nil)
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	open := func(Options) (Stack, error) {
		s := Kernel(netip.Addr{})
		s.Close = func() error { closed = true; return nil }
		return s, nil
	}
	var out bytes.Buffer
	var r Report
	if err := run(t.Context(), o, open, &out); err != nil || strings.Count(out.String(), "\n") != 1 || json.Unmarshal(out.Bytes(), &r) != nil || r.Connections != 2 {
		t.Errorf("got %v and %s, want nil and one line of JSON with 2 connections", err, &out)
	}
	if !closed {
		t.Error("the stack after the run: got it open, want it closed")
	}
}
