package chatload

import (
	"fmt"
	"io"

	"weir/lab/load"
)

// WriteText writes r as text for a reader.
func (r *Report) WriteText(w io.Writer) error {
	t := r.NewText("%s: %s", r.Target, r.title())
	if r.Rate > 0 {
		t.Offers(&r.Report, "deliveries")
	}
	t.Row("deliveries", "%d in %.3f s: %.1f/s of %d messages, %.2f MB/s", r.Messages, r.Seconds(), r.MessageRate, r.Sent, float64(r.Bytes)/1e6/r.Seconds())
	if r.History != "" {
		t.Row("replays", "%d by %s: %s", r.Replays, r.History, load.PercentilesText(r.ReplayUS))
	} else {
		t.Row("latency", "%s", load.PercentilesText(r.LatencyUS))
	}
	t.Row("missing", "%d", r.Missing)
	if r.Caps != "" {
		t.Row("capabilities", "%s", r.Caps)
	}
	return t.End(w, &r.Report, "delivery")
}

func (r *Report) title() string {
	what := fmt.Sprintf("%d members in %d rooms, %d of them send", r.Members, r.Rooms, r.Senders)
	switch {
	case r.History != "":
		what = fmt.Sprintf("a history read by one new member after the other, %d members", r.Members)
	case r.Rate > 0:
		what += fmt.Sprintf(", %g messages/s in an open loop", r.Rate)
	default:
		what += ", closed loop"
	}
	if r.Idle > 0 {
		what += fmt.Sprintf(", %d idle", r.Idle)
	}
	return what
}
