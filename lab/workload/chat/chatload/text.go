package chatload

import (
	"fmt"
	"io"
	"strings"
	"time"

	"weir/lab/result"
)

// WriteText writes r as text for a reader.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-12s "+format+"\n", append([]any{name}, args...)...)
	}
	seconds := time.Duration(r.WindowNS).Seconds()
	fmt.Fprintf(&b, "%s: %s\n", r.Target, r.title())
	if r.Rate > 0 {
		row("offered", "%.1f deliveries/s for %.3g s: %d, of which %d arrived", r.OfferedRate, seconds, r.Offered, r.Answered)
		row("lateness", "%s", percentilesText(r.LatenessUS))
		row("behind", "%d messages waited for a full connection", r.Behind)
	}
	row("deliveries", "%d in %.3f s: %.1f/s of %d messages, %.2f MB/s", r.Messages, seconds, r.MessageRate, r.Sent, float64(r.Bytes)/1e6/seconds)
	if r.History != "" {
		row("replays", "%d by %s: %s", r.Replays, r.History, percentilesText(r.ReplayUS))
	} else {
		row("latency", "%s", percentilesText(r.LatencyUS))
	}
	row("missing", "%d", r.Missing)
	if r.Caps != "" {
		row("capabilities", "%s", r.Caps)
	}
	row("own CPU", "%.3f of a core, waited %.3f for one; %.3f us per delivery", float64(r.CPUNS)/float64(r.WindowNS), float64(r.RunQueueNS)/float64(r.WindowNS),
		float64(r.CPUNS)/1e3/float64(max(1, r.Messages)))
	row("errors", "%s", orNone(r.Trouble()))
	for _, d := range r.Details {
		row("", "%s", d)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
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
	if r.Interrupt {
		return what + " (interrupted)"
	}
	return what
}

func percentilesText(p result.Percentiles) string {
	return fmt.Sprintf("p1 %.3f ms, p50 %.3f, p99 %.3f, p99.9 %.3f, max %.3f", p.P01/1e3, p.P50/1e3, p.P99/1e3, p.P999/1e3, p.Max/1e3)
}
