package httpload

import (
	"fmt"
	"io"

	"weir/lab/load"
)

// WriteText writes r as text.
func (r *Report) WriteText(w io.Writer) error {
	t := r.NewText("%s: %s", r.URL, r.title())
	if r.Rate > 0 {
		t.Offers(&r.Report, "requests")
	}
	t.Row("answers", "%d in %.3f s: %.1f/s", r.Messages, r.Seconds(), r.MessageRate)
	t.Row("failed", "%d of %d, %d incomplete", r.Failed, r.Offered, r.Unfinished)
	t.Row("bytes", "%d, of which bodies %d: %.2f MB/s", r.Bytes, r.BodyBytes, float64(r.Bytes)/1e6/r.Seconds())
	if r.Encoded > 0 {
		t.Row("", "%d bodies in gzip", r.Encoded)
	}
	t.Row("connections", "%d opened", r.Opened)
	if s := r.TLS; s != nil {
		t.Row("TLS", "%s", s.Text())
		t.Row("handshakes", "%d, of which %d resumed a session", s.Handshakes, s.Resumed)
	}
	for i, m := range r.Mix[:min(len(r.Mix), maxMixRows)] {
		name := ""
		if i == 0 {
			name = "requests"
		}
		t.Row(name, "%.60s: %d answered in %.3f ms on average, at most %.3f; %d failed", m.Request, m.Answered, m.LatencyMeanUS/1e3, m.LatencyMaxUS/1e3, m.Failed)
	}
	r.writeTimes(t)
	return t.End(w, &r.Report, "answer")
}

// maxMixRows is the number of described requests that the text has; JSON has all.
const maxMixRows = 20

// arrivals describes the arrival patterns.
var arrivals = map[string]string{load.Staggered: ", evenly spaced", load.Together: ", all connections together", load.Poisson: ", Poisson arrivals"}

func (r *Report) title() string {
	what := fmt.Sprintf("%d connections", r.Connections)
	if !r.KeepAlive {
		what = fmt.Sprintf("%d at once, a connection for each", r.Connections)
	}
	if r.Streams > 0 {
		what += fmt.Sprintf(" of HTTP/2 with %d requests at once", r.Streams)
	}
	if r.Rate > 0 {
		what += fmt.Sprintf(", open loop of %g requests/s%s", r.Rate, arrivals[r.Pattern])
	} else {
		what += ", closed loop"
	}
	if r.Described > 1 {
		what += fmt.Sprintf(", %d described requests", r.Described)
	}
	if r.Stopped != "" {
		what += " (stopped " + r.Stopped + ")"
	}
	return what
}

// writeTimes writes ab's two tables.
func (r *Report) writeTimes(b *load.Text) {
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
