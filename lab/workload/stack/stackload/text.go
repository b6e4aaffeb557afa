package stackload

import (
	"fmt"
	"io"
	"strings"
	"time"

	"weir/lab/internal/tally"
)

// WriteText writes r as text.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", r.Operation, r.Address, r.title())
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-12s "+format+"\n", append([]any{name}, args...)...)
	}
	seconds := time.Duration(r.WindowNS).Seconds()
	switch r.Operation {
	case Ping:
		r.writePings(row, seconds)
	case In, Out:
		row("carried", "%.3f GB in %.3f s: %.2f Gbit/s", float64(r.Bytes)/1e9, seconds, r.GbitS)
	case Idle:
		row("held", "%d of %d connections for %.3f s", r.Messages, r.Connections, seconds)
	default:
		row("done", "%d in %.3f s: %.0f/s", r.Messages, seconds, r.MessageRate)
	}
	if r.Operation == In {
		row("confirmed", "%d of %d connections, by the stack's end of stream after the last byte", r.Confirmed, r.Connections)
	}
	if r.Operation != Ping {
		row("segments", "%d out, of which %d again; %d in", r.SegmentsOut, r.Retransmitted, r.SegmentsIn)
	}
	writeTimes(row, "latency", r.OperationUS)
	writeTimes(row, "connecting", r.ConnectUS)
	row("own CPU", "%.3f of a core, waited %.3f for one%s", share(r.CPUNS, r.WindowNS), share(r.RunQueueNS, r.WindowNS), r.costText())
	if r.Trouble() == "" {
		row("errors", "none")
	} else {
		row("errors", "%s", r.Trouble())
	}
	for _, d := range r.Details {
		row("", "%s", d)
	}
	for _, n := range r.Notes {
		row("note", "%s", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) title() string {
	what := fmt.Sprintf("%d connections, %s", r.Connections, r.Congestion)
	if r.Operation == Ping {
		what = fmt.Sprintf("%d flows, %g pings/s of %d bytes", r.Flows, r.Rate, r.Size)
		if r.Together {
			what += ", all flows at once"
		}
		if r.Processes > 0 {
			what = fmt.Sprintf("%d processes of ping, %g pings/s of %d bytes", r.Processes, r.Rate, r.Size)
		}
	}
	if r.Interrupt {
		what += " (interrupted)"
	}
	return what
}

func (r *Report) writePings(row func(name, format string, args ...any), seconds float64) {
	if r.Processes > 0 {
		row("answered", "%d in %.3f s, lost %d", r.Messages, seconds, r.Lost)
		return
	}
	row("answered", "%d of %d in %.3f s, lost %d", r.Messages, r.Offered, seconds, r.Lost)
	if r.Unstamped > 0 {
		row("", "%d without a time stamp of sending, timed by the program's clock", r.Unstamped)
	}
	row("lateness", "of the sender: p50 %s, p99 %s, max %s", usText(r.LatenessUS.P50), usText(r.LatenessUS.P99), usText(r.LatenessUS.Max))
}

func writeTimes(row func(name, format string, args ...any), name string, t tally.Times) {
	if t.Max > 0 {
		row(name, "mean %s, min %s, median %s, p99 %s, p99.9 %s, max %s", usText(t.Mean), usText(t.Min), usText(t.Median), usText(t.P99), usText(t.P999), usText(t.Max))
	}
}

// costText formats the generator's own CPU per operation or GB.
func (r *Report) costText() string {
	switch {
	case r.Messages == 0 || r.Operation == Idle:
		return ""
	case r.Operation == In || r.Operation == Out:
		return fmt.Sprintf("; %.3f s for each GB", float64(r.CPUNS)/float64(r.Bytes))
	case r.Processes > 0:
		return fmt.Sprintf("; the pings %.1f us each", float64(r.ChildrenCPUNS)/1e3/float64(r.Messages))
	}
	return fmt.Sprintf("; %.1f us each", float64(r.CPUNS)/1e3/float64(r.Messages))
}

func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// usText formats microseconds in a suitable unit.
func usText(us float64) string {
	switch {
	case us >= 1e6:
		return fmt.Sprintf("%.2f s", us/1e6)
	case us >= 1e3:
		return fmt.Sprintf("%.2f ms", us/1e3)
	}
	return fmt.Sprintf("%.1f us", us)
}
