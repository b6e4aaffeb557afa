package streamload

import (
	"fmt"
	"io"

	"weir/lab/load"
	"weir/lab/result"
)

// Report is the outcome of a run. Its messages are those that were sent completely in time: see the
// package's documentation. Short connections are not included in its counts, except in
// WarmMessages. Answered are the echoes of the window's messages; with bits, AchievedRatio is by
// bytes.
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

	load.Report
	Writes int64 `json:"writes"` // successful write system calls
	// messages still unsent at the end, including those of lost connections
	Owed int64 `json:"owed"`
	// messages that were echoed completely and correctly
	Echoed int64 `json:"echoed,omitempty"`
	// bytes received that were not expected, over the whole run
	Discarded int64 `json:"discarded,omitempty"`
	// short connections, not included in the counts above
	Churn *ChurnReport `json:"churn,omitempty"`
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

// WriteText writes r as text for a reader.
func (r *Report) WriteText(w io.Writer) error {
	t := r.NewText("%s: %s", r.Target, r.title())
	if r.Connections > 0 {
		t.Offers(&r.Report, "messages")
		t.Row("messages", "%d, %s in %d writes; %d never sent", r.Messages, load.BytesText(r.Bytes), r.Writes, r.Owed)
		t.Row("gaps", "%s", load.PercentilesText(r.GapUS))
	}
	if r.SpreadUS.Max > 0 {
		t.Row("spread", "%s  (first to last of a burst)", load.PercentilesText(r.SpreadUS))
	}
	if r.LatencyUS.Max > 0 {
		t.Row("latency", "%s  (%d echoes, from the due time)", load.PercentilesText(r.LatencyUS), r.Echoed)
	}
	if c := r.Churn; c != nil {
		t.Row("churn", "%d of %d short connections, %d started late", c.Done, c.Offered, c.Behind)
		t.Row("", "%s", load.PercentilesText(c.DurationUS))
	}
	if r.Discarded > 0 {
		t.Row("discarded", "%s of unexpected replies", load.BytesText(r.Discarded))
	}
	return t.End(w, &r.Report, "message")
}

func (r *Report) title() string {
	what := fmt.Sprintf("%d connections x %g/s x %d bytes, %s", r.Connections, r.Rate, r.Size, r.Pattern)
	if r.Bits > 0 {
		what = fmt.Sprintf("%d connections x %g bit/s in small writes, %s", r.Connections, r.Bits, r.Pattern)
	}
	if r.Idle > 0 {
		what += fmt.Sprintf(", %d idle", r.Idle)
	}
	return what
}
