package httpload

import (
	"fmt"
	"io"
	"strings"
	"time"

	"weir/lab/load"
	"weir/lab/result"
)

// WriteText writes r as text.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-12s "+format+"\n", append([]any{name}, args...)...)
	}
	seconds := time.Duration(r.WindowNS).Seconds()
	fmt.Fprintf(&b, "%s: %s\n", r.URL, r.title())
	if r.Rate > 0 {
		row("offered", "%.1f requests/s for %.3g s: %d, %.2f %% of it achieved", r.OfferedRate, seconds, r.Offered, 100*r.AchievedRatio)
		row("lateness", "%s", percentilesText(r.LatenessUS))
		row("behind", "%d found their connection busy", r.Behind)
	}
	row("answers", "%d in %.3f s: %.1f/s", r.Messages, seconds, r.MessageRate)
	row("failed", "%d of %d, %d incomplete", r.Failed, r.Offered, r.Unfinished)
	row("bytes", "%d, of which bodies %d: %.2f MB/s", r.Bytes, r.BodyBytes, float64(r.Bytes)/1e6/seconds)
	if r.Encoded > 0 {
		row("", "%d bodies in gzip", r.Encoded)
	}
	row("connections", "%d opened", r.Opened)
	if t := r.TLS; t != nil {
		row("TLS", "%s", t.text())
		row("handshakes", "%d, of which %d resumed a session", t.Handshakes, t.Resumed)
	}
	r.writeTimes(&b)
	row("own CPU", "%.3f of a core, waited %.3f for one; %.2f us an answer", float64(r.CPUNS)/float64(r.WindowNS), float64(r.RunQueueNS)/float64(r.WindowNS),
		float64(r.CPUNS)/1e3/float64(max(1, r.Messages)))
	r.writeTrouble(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// arrivals describes the arrival patterns.
var arrivals = map[string]string{load.Staggered: ", evenly spaced", load.Together: ", all connections together", load.Poisson: ", Poisson arrivals"}

func (r *Report) title() string {
	what := fmt.Sprintf("%d connections", r.Connections)
	if !r.KeepAlive {
		what = fmt.Sprintf("%d at once, a connection for each", r.Connections)
	}
	if r.Rate > 0 {
		what += fmt.Sprintf(", open loop of %g requests/s%s", r.Rate, arrivals[r.Pattern])
	} else {
		what += ", closed loop"
	}
	if r.Stopped != "" {
		return what + " (stopped " + r.Stopped + ")"
	}
	if r.Interrupt {
		return what + " (interrupted)"
	}
	return what
}

// writeTimes writes ab's two tables.
func (r *Report) writeTimes(b *strings.Builder) {
	fmt.Fprintf(b, "\n  %-12s %9s %9s %9s %9s %9s\n", "ms", "min", "mean", "sd", "median", "max")
	line := func(name string, t Times) {
		fmt.Fprintf(b, "  %-12s %9.3f %9.3f %9.3f %9.3f %9.3f\n", name, t.Min/1e3, t.Mean/1e3, t.SD/1e3, t.Median/1e3, t.Max/1e3)
	}
	line("connect", r.ConnectUS)
	if r.TLS != nil {
		line("handshake", r.TLS.HandshakeUS)
	}
	line("processing", r.ProcessingUS)
	line("waiting", r.WaitUS)
	line("total", r.TotalUS)
	last := r.TotalUS
	if r.Rate > 0 {
		last = r.DueUS
		line("from due", last)
	}
	fmt.Fprintf(b, "\n  %-12s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", "% within ms", "50", "66", "75", "80", "90", "95", "98", "99", "99.9", "100")
	fmt.Fprintf(b, "  %-12s", map[bool]string{true: "from due", false: "total"}[r.Rate > 0])
	for _, us := range []float64{last.Median, last.P66, last.P75, last.P80, last.P90, last.P95, last.P98, last.P99, last.P999, last.Max} {
		fmt.Fprintf(b, " %8.3f", us/1e3)
	}
	b.WriteString("\n\n")
}

func (r *Report) writeTrouble(b *strings.Builder) {
	if len(r.Errors) == 0 {
		b.WriteString("  errors       none\n")
		return
	}
	fmt.Fprintf(b, "  errors       %s\n", r.Trouble())
	for _, d := range r.Details {
		fmt.Fprintf(b, "               %s\n", d)
	}
}

func percentilesText(p result.Percentiles) string {
	return fmt.Sprintf("p1 %.3f ms, p50 %.3f, p99 %.3f, p99.9 %.3f, max %.3f", p.P01/1e3, p.P50/1e3, p.P99/1e3, p.P999/1e3, p.Max/1e3)
}
