package stackload

import (
	"fmt"
	"io"

	"weir/lab/load"
)

// WriteText writes r as text.
func (r *Report) WriteText(w io.Writer) error {
	t := r.NewText("%s %s: %s", r.Operation, r.Address, r.title())
	unit := "operation"
	switch r.Operation {
	case Ping:
		r.writePings(t)
		if r.Processes > 0 {
			t.Row("", "the processes used %.1f us of CPU for each ping", float64(r.ChildrenCPUNS)/1e3/float64(max(1, r.Messages)))
		}
	case In, Out:
		t.Row("carried", "%.3f GB in %.3f s: %.2f Gbit/s", float64(r.Bytes)/1e9, r.Seconds(), r.GbitS)
		unit = "64 KiB"
	case Idle:
		t.Row("held", "%d of %d connections for %.3f s", r.Messages, r.Connections, r.Seconds())
		unit = ""
	default:
		t.Row("done", "%d in %.3f s: %.0f/s", r.Messages, r.Seconds(), r.MessageRate)
	}
	if r.Operation == In {
		t.Row("confirmed", "%d of %d connections, by the stack's end of stream after the last byte", r.Confirmed, r.Connections)
	}
	if r.Operation != Ping {
		t.Row("segments", "%d out, of which %d again; %d in", r.SegmentsOut, r.Retransmitted, r.SegmentsIn)
	}
	t.Times("latency", r.OperationUS)
	t.Times("connecting", r.ConnectUS)
	for _, n := range r.Notes {
		t.Row("note", "%s", n)
	}
	return t.End(w, &r.Report, unit)
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
	return what
}

func (r *Report) writePings(t *load.Text) {
	if r.Processes > 0 {
		t.Row("answered", "%d in %.3f s, lost %d", r.Messages, r.Seconds(), r.Lost)
		return
	}
	t.Row("offered", "%.1f pings/s for %.3g s: %d, of which %d were answered, %d lost", r.OfferedRate, r.Seconds(), r.Offered, r.Messages, r.Lost)
	t.Row("lateness", "%s", load.PercentilesText(r.LatenessUS))
	if r.Unstamped > 0 {
		t.Row("", "%d without a time stamp of sending, timed by the program's clock", r.Unstamped)
	}
}
