package streamload

import (
	"fmt"
	"io"
	"strings"
	"time"

	"weir/lab/internal/tally"
	"weir/lab/result"
)

// Report is the outcome of a run. Units are part of the JSON names. Counts are of the measured
// window unless stated otherwise. Read the generator's own figures first: a load that was late or
// short proves nothing about the server.
type Report struct {
	Target      string `json:"target"`
	Connections int    `json:"connections"`
	Idle        int    `json:"idle,omitempty"`
	Pattern     string `json:"pattern"`
	// messages a second offered on each connection; with bits a second computed from them
	Rate float64 `json:"rate"`
	Size int     `json:"size"`           // bytes per message
	Bits float64 `json:"bits,omitempty"` // bits a second offered on each connection
	Seed uint64  `json:"seed"`

	// messages a second that were due, all connections
	OfferedRate   float64 `json:"offered_rate"`
	AchievedRatio float64 `json:"achieved_ratio"` // Messages / Offered, with bits a second by bytes
	Offered       int64   `json:"offered"`        // messages due
	// of these, sent completely in time (see the package's documentation)
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`  // in these messages
	Writes   int64 `json:"writes"` // successful write system calls
	// messages whose connection was full (not writable) when they were due
	Behind int64 `json:"behind"`
	// messages still unsent at the end, including those of lost connections
	Owed int64 `json:"owed"`
	// sent before the window, including those of short connections
	WarmMessages int64 `json:"warm_messages"`

	LatenessUS result.Percentiles `json:"lateness_us"` // actual minus due time of sending
	// between consecutive messages of a connection
	GapUS result.Percentiles `json:"gap_us"`
	// echo: from the due time to the last byte of the echo
	LatencyUS result.Percentiles `json:"latency_us,omitzero"`
	// together: from the first message of a burst to its last
	SpreadUS result.Percentiles `json:"spread_us,omitzero"`
	// messages that were echoed completely and correctly
	Echoed int64 `json:"echoed,omitempty"`
	// bytes received that were not expected, over the whole run
	Discarded int64 `json:"discarded,omitempty"`
	// short connections, not included in the counts above
	Churn *ChurnReport `json:"churn,omitempty"`
	// by kind, over the whole run; empty if there were none
	Errors    map[string]int64 `json:"errors"`
	Details   []string         `json:"details,omitempty"`    // the first few errors in full
	Interrupt bool             `json:"interrupted,omitzero"` // the window was cut short

	CPUNS int64 `json:"cpu_ns"` // CPU of this process
	// time in which the sending thread was runnable, but not running
	RunQueueNS int64 `json:"run_queue_ns"`
	WindowNS   int64 `json:"window_ns"`
	StartedNS  int64 `json:"started_ns"` // CLOCK_MONOTONIC; the start of the window
}

// ChurnReport is the outcome of the window's short connections.
type ChurnReport struct {
	Offered int64 `json:"offered"` // connections that were due
	// of these, connected, sent, and closed by both sides
	Done int64 `json:"done"`
	// of these, started late or never because all workers were busy
	Behind     int64              `json:"behind"`
	DurationUS result.Percentiles `json:"duration_us"` // from the due time to the close
}

// Trouble returns all errors by kind in one line; empty if there are none.
func (r *Report) Trouble() string { return tally.KindsText(r.Errors) }

// WriteText writes r as text for a reader.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s "+format+"\n", append([]any{name}, args...)...)
	}
	seconds := time.Duration(r.WindowNS).Seconds()
	fmt.Fprintf(&b, "%s: %s\n", r.Target, r.title())
	if r.Connections > 0 {
		row("offered", "%.1f messages/s for %.3g s: %d", r.OfferedRate, seconds, r.Offered)
		row("achieved", "%.2f %%: %d messages, %s in %d writes", 100*r.AchievedRatio, r.Messages, bytesText(r.Bytes), r.Writes)
		row("behind", "%d waited for a full connection, %d never sent", r.Behind, r.Owed)
		row("lateness", "%s", percentilesText(r.LatenessUS))
		row("gaps", "%s", percentilesText(r.GapUS))
	}
	if r.SpreadUS.Max > 0 {
		row("spread", "%s  (first to last of a burst)", percentilesText(r.SpreadUS))
	}
	if r.LatencyUS.Max > 0 {
		row("latency", "%s  (%d echoes, from the due time)", percentilesText(r.LatencyUS), r.Echoed)
	}
	if c := r.Churn; c != nil {
		row("churn", "%d of %d short connections, %d started late", c.Done, c.Offered, c.Behind)
		row("", "%s", percentilesText(c.DurationUS))
	}
	if r.Discarded > 0 {
		row("discarded", "%s of unexpected replies", bytesText(r.Discarded))
	}
	row("own CPU", "%.3f of a core, waited %.3f for one", share(r.CPUNS, r.WindowNS), share(r.RunQueueNS, r.WindowNS))
	r.writeTrouble(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) title() string {
	what := fmt.Sprintf("%d connections x %g/s x %d bytes, %s", r.Connections, r.Rate, r.Size, r.Pattern)
	if r.Bits > 0 {
		what = fmt.Sprintf("%d connections x %g bit/s in small writes, %s", r.Connections, r.Bits, r.Pattern)
	}
	if r.Idle > 0 {
		what += fmt.Sprintf(", %d idle", r.Idle)
	}
	if r.Interrupt {
		what += " (interrupted)"
	}
	return what
}

func (r *Report) writeTrouble(b *strings.Builder) {
	if len(r.Errors) == 0 {
		b.WriteString("  errors     none\n")
		return
	}
	fmt.Fprintf(b, "  errors     %s\n", r.Trouble())
	for _, d := range r.Details {
		fmt.Fprintf(b, "             %s\n", d)
	}
}

func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func percentilesText(p result.Percentiles) string {
	return fmt.Sprintf("p1 %-9s p50 %-9s p99 %-9s p99.9 %-9s max %s",
		usText(p.P01), usText(p.P50), usText(p.P99), usText(p.P999), usText(p.Max))
}

// usText formats microseconds with three or more digits in a suitable unit.
func usText(us float64) string {
	switch {
	case us >= 1e6:
		return fmt.Sprintf("%.2f s", us/1e6)
	case us >= 1e3:
		return fmt.Sprintf("%.3f ms", us/1e3)
	case us >= 100:
		return fmt.Sprintf("%.0f us", us)
	}
	return fmt.Sprintf("%.1f us", us)
}

func bytesText(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}
