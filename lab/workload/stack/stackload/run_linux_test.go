package stackload

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/freeport"
	"weir/lab/internal/oneloop"
	"weir/lab/load"
)

// lenient returns a Config with a timeout that no machine exceeds, and with the congestion control
// that every kernel has and allows.
func lenient(operation string, port int) Config {
	return Config{Operation: operation, Address: "127.0.0.1", Port: port, Connections: 3, Congestion: "reno", Timeout: time.Minute, Duration: 100 * time.Millisecond}
}

// until runs c with longer and longer windows until the report satisfies there. A slow or busy
// machine needs a longer window.
func until(t *testing.T, c Config, run func(*testing.T, Config) Report, there func(Report) bool) Report {
	t.Helper()
	for ; ; c.Duration *= 4 {
		if r := run(t, c); there(r) || c.Duration > 20*time.Second {
			return r
		}
	}
}

func something(r Report) bool { return r.Messages > 0 }

// untilProgress runs c until its progress satisfies there, and stops it then.
func untilProgress(t *testing.T, c Config, there func(load.Progress) bool) Report {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Duration = time.Hour
	r, err := Run(ctx, c, load.Events{Every: 5 * time.Millisecond, Progress: func(p load.Progress) {
		if there(p) {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return r
}

func mustRun(t *testing.T, c Config) Report {
	t.Helper()
	r, err := Run(t.Context(), c, load.Events{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var good = map[string]session{Connect: discard, In: discard, Out: source, RR: echo, Idle: echo}

func TestOperationsReportTheirFigures(t *testing.T) {
	for operation, service := range good {
		t.Run(operation, func(t *testing.T) {
			c := lenient(operation, serve(t, service))
			r := until(t, c, mustRun, something)
			if r.Messages == 0 || r.AchievedRatio != 1 || len(r.Errors) != 0 || r.Opened < 3 || r.CPUNS <= 0 || r.WindowNS < 100e6 || r.StartedNS == 0 || r.Interrupt {
				t.Errorf("got %+v, want messages without errors", r)
			}
			if r.Congestion != "reno" || r.Operation != operation || r.Connections != 3 || r.ConnectUS.Max <= 0 {
				t.Errorf("got %+v, want the report of this Config", r)
			}
			if carries := operation != Idle; carries != (r.Bytes > 0) || carries != (r.GbitS > 0) || carries != (r.SegmentsOut > 0) {
				t.Errorf("got impossible bytes or segments, want them above 0: %t, in %+v", carries, r)
			}
			if timed := operation == RR || operation == Connect; timed != (r.LatencyUS.P50 > 0) || timed != (r.MeanUS > 0) || r.LatencyUS.Max < r.LatencyUS.P50 {
				t.Errorf("got impossible times, want them above 0: %t, and the maximum no less than P50, in %+v", timed, r)
			}
		})
	}
}

// TestInConfirmsAllData checks that only acknowledged bytes count, and that all bytes have arrived
// at the end of the run.
func TestInConfirmsAllData(t *testing.T) {
	var arrived atomic.Int64
	over := make(chan struct{}, 8) // sessions -> the test; one for each connection
	port := serve(t, func(c net.Conn, o <-chan struct{}) { counting(&arrived)(c, o); over <- struct{}{} })
	r := until(t, lenient(In, port), func(t *testing.T, c Config) Report {
		arrived.Store(0)
		r := mustRun(t, c)
		for range r.Connections {
			<-over
		}
		return r
	}, something)
	if all := arrived.Load(); r.Bytes == 0 || r.Bytes > all || r.Confirmed != 3 || r.Messages != r.Bytes/bulkMessage {
		t.Errorf("got %+v with %d bytes received, want at most those, and 3 confirmed connections", r, all)
	}
}

// TestEveryMisbehaviourHasItsKind checks the kinds of the stack's errors, and that the run
// continues after them.
func TestEveryMisbehaviourHasItsKind(t *testing.T) {
	short := 60 * time.Millisecond
	for name, c := range map[string]struct {
		operation string
		service   session
		timeout   time.Duration
		want      string
	}{
		"rr, closed":           {RR, closesAfterByte, time.Minute, oneloop.KindClosed},
		"rr, reset":            {RR, resets, time.Minute, oneloop.KindReset},
		"rr, another byte":     {RR, says("x"), time.Minute, kindBody},
		"rr, more bytes":       {RR, says("\x01\x01"), time.Minute, kindBody},
		"rr, no answer":        {RR, silent, short, oneloop.KindTimeout},
		"connect, no end":      {Connect, silent, short, oneloop.KindTimeout},
		"connect, bytes":       {Connect, says("x"), time.Minute, kindBody},
		"connect, reset":       {Connect, resets, time.Minute, oneloop.KindReset},
		"in, closed":           {In, closesAfterByte, time.Minute, ""},
		"in, bytes":            {In, says("x"), time.Minute, kindBody},
		"in, not read":         {In, silent, short, oneloop.KindTimeout},
		"out, the source ends": {Out, closesAfterMiB, time.Minute, oneloop.KindClosed},
		"out, nothing is sent": {Out, silent, short, oneloop.KindTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			l := lenient(c.operation, serve(t, c.service))
			l.Timeout = c.timeout
			r := untilProgress(t, l, func(p load.Progress) bool { return p.Failed > 0 })
			if len(r.Errors) == 0 || c.want != "" && r.Errors[c.want] == 0 || len(r.Details) == 0 || len(r.Details) > 5 {
				t.Errorf("got the errors %v: %q, want the kind %q", r.Errors, r.Details, c.want)
			}
		})
	}
}

// TestBrokenConnectionsAreReopened checks that the figures of the broken connection are kept.
func TestBrokenConnectionsAreReopened(t *testing.T) {
	var n atomic.Int64
	c := lenient(RR, serve(t, func(c net.Conn, over <-chan struct{}) {
		if n.Add(1) > 3 {
			echo(c, over)
		} else {
			closesAfterByte(c, over)
		}
	}))
	if r := untilProgress(t, c, func(p load.Progress) bool { return p.Failed == 3 && p.Sent > 0 }); r.Opened < 6 || r.Messages == 0 || r.Errors[oneloop.KindClosed]+r.Errors[oneloop.KindReset] != 3 {
		t.Errorf("got %+v, want six connections, three of them broken", r)
	}
}

func TestAStackThatDoesNotListenIsAnError(t *testing.T) {
	port, err := freeport.Choose("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for operation := range good {
		if _, err := Run(t.Context(), lenient(operation, port), load.Events{}); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
			t.Errorf("%s: got %v, want that nothing listens there", operation, err)
		}
	}
	c := lenient(Idle, serve(t, closesAfterByte))
	if _, err := Run(t.Context(), c, load.Events{}); err == nil || !strings.Contains(err.Error(), "can't connect") {
		t.Errorf("idle connections that are not served: got %v, want an error", err)
	}
}

func TestAnUnknownCongestionControlIsAnError(t *testing.T) {
	c := lenient(RR, serve(t, echo))
	c.Congestion = "none-such"
	if _, err := Run(t.Context(), c, load.Events{}); !errors.Is(err, load.ErrUsage) || !strings.Contains(err.Error(), `no congestion control "none-such"`) || !strings.Contains(err.Error(), "reno") {
		t.Errorf("got %v, want a usage error that lists reno", err)
	}
	c.Congestion = "reno"
	if r := until(t, c, mustRun, something); r.Congestion != "reno" || r.Messages == 0 {
		t.Errorf("got %+v, want messages with reno", r)
	}
}

func TestAnInterruptEndsARun(t *testing.T) {
	for operation, service := range good {
		if r := untilProgress(t, lenient(operation, serve(t, service)), func(p load.Progress) bool { return p.Measuring && p.Sent > 0 }); !r.Interrupt || len(r.Errors) != 0 {
			t.Errorf("%s: got %+v, want an interrupted run without errors", operation, r)
		}
	}
}
