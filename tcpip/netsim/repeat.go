package netsim

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Repeat runs a seed twice and fails t if the hosts sent different packets, or if the test took a
// different time: it names the first packet that differs, and the call that sent it. A test is
// repeatable if its program is: see the package. WEIR_SEED takes the place of the seed.
func Repeat(t *testing.T, seed uint64, test func(*World)) {
	t.Helper()
	seed = chosenSeeds(t, Seed(seed)).First
	if text := difference(t, seed, test); text != "" {
		t.Errorf("netsim: seed %d is not repeatable: %s", seed, text)
	}
}

// difference runs a seed twice and describes the first packet that differs; "": none does.
func difference(t *testing.T, seed uint64, test func(*World)) string {
	t.Helper()
	var runs [2]*trace
	var took [2]time.Duration
	for n := range runs {
		w := newWorld(seed, nil)
		w.trace.callers = true
		w.runIn(t, test)
		if w.Failed() {
			explain(t, w, test, &tally{})
			return ""
		}
		runs[n], took[n] = w.trace, w.took
	}
	if text := firstDifference(runs[0], runs[1]); text != "" || took[0] == took[1] {
		return text
	}
	return fmt.Sprintf("the packets are the same, but the test took %v, then %v", took[0], took[1])
}

// firstDifference describes the first packet in which two runs differ; "": they are the same.
func firstDifference(a, b *trace) string {
	n := 0
	for n < min(len(a.digests), len(b.digests)) && a.digests[n] == b.digests[n] {
		n++
	}
	switch {
	case n == len(a.digests) && n == len(b.digests):
		return ""
	case n == len(a.digests):
		return fmt.Sprintf("only the second run sent packet %d:\n%s", n+1, b.sent(n).describe())
	case n == len(b.digests):
		return fmt.Sprintf("only the first run sent packet %d:\n%s", n+1, a.sent(n).describe())
	}
	x, y := a.sent(n), b.sent(n)
	return fmt.Sprintf("packet %d differs%s. The first run sent\n%sthe second one\n%s", n+1, differsAt(x.packet, y.packet), x.describe(), y.describe())
}

// differsAt says from which byte on two packets differ.
func differsAt(a, b []byte) string {
	for n := range min(len(a), len(b)) {
		if a[n] != b[n] {
			return fmt.Sprintf(" from byte %d on (%x, then %x)", n, a[n:min(n+8, len(a))], b[n:min(n+8, len(b))])
		}
	}
	return ""
}

// describe describes a sent packet: when, by which host, what, and the calls that sent it.
func (e tracedEvent) describe() string {
	var b strings.Builder
	what := "a packet that is no longer kept: a run keeps the last 64 MiB"
	if e.packet != nil {
		what = summary(e.packet)
	}
	fmt.Fprintf(&b, "    %v, %s: %s\n", e.at, e.node, what)
	frames := runtime.CallersFrames(e.stack)
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "weir/tcpip.") && !strings.HasPrefix(f.Function, "runtime.") {
			fmt.Fprintf(&b, "        %s\n            %s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}
