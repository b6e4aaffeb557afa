package wsload

import (
	"fmt"
	"io"

	"weir/lab/internal/tally"
	"weir/lab/internal/tlsclient"
	"weir/lab/load"
)

// Report is the outcome of a run. Its messages are those with a correct echo, or without
// Config.Echo those sent, or without a rate those received.
type Report struct {
	URL         string  `json:"url"`
	Address     string  `json:"address"` // of the server
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate"`    // configured messages per second; 0: none
	Pattern     string  `json:"pattern"` // of the open loop; empty without a rate
	Size        int     `json:"size"`    // bytes of a message
	Text        bool    `json:"text"`
	Echo        bool    `json:"echo"`
	TimeoutNS   int64   `json:"timeout_ns"`
	load.Report
	Sent          int64 `json:"sent"`           // messages
	Received      int64 `json:"received"`       // messages, correct or not
	ReceivedBytes int64 `json:"received_bytes"` // of their payloads
	Pings         int64 `json:"pings"`          // of the server, over the whole run
	// messages without an echo at the end of a run that was ended early
	Unfinished int64 `json:"unfinished"`
	// connections that the server did not close within a second after the run, as it was asked to
	Unclosed int64 `json:"unclosed"`

	TLS *tlsclient.Report `json:"tls,omitempty"` // nil: ws://

	ConnectUS tally.Times `json:"connect_us"` // of TCP connections
	// from there, or from the end of the TLS handshake, to the answer of the upgrade
	UpgradeUS tally.Times `json:"upgrade_us"`
	EchoUS    tally.Times `json:"echo_us"` // the latencies of LatencyUS
}

// WriteText writes r as text.
func (r *Report) WriteText(w io.Writer) error {
	t := r.NewText("%s: %s", r.URL, r.title())
	if r.Rate > 0 {
		t.Offers(&r.Report, "messages")
	}
	if r.Echo {
		t.Row("echoes", "%d in %.3f s: %.1f/s", r.Messages, r.Seconds(), r.MessageRate)
		t.Row("failed", "%d of %d, %d incomplete", r.Failed, r.Offered, r.Unfinished)
		t.Times("latency", r.EchoUS)
	} else {
		t.Row("messages", "%d sent and %d received in %.3f s", r.Sent, r.Received, r.Seconds())
	}
	t.Row("received", "%d messages, %s: %.2f MB/s", r.Received, load.BytesText(r.ReceivedBytes), float64(r.ReceivedBytes)/1e6/r.Seconds())
	t.Times("connect", r.ConnectUS)
	if s := r.TLS; s != nil {
		t.Row("TLS", "%s", s.Text())
		t.Row("handshakes", "%d, of which %d resumed a session", s.Handshakes, s.Resumed)
		t.Times("handshake", s.HandshakeUS)
	}
	t.Times("upgrade", r.UpgradeUS)
	t.Row("control", "%d pings answered, %d connections not closed by the server", r.Pings, r.Unclosed)
	return t.End(w, &r.Report, "message")
}

func (r *Report) title() string {
	kind := "binary"
	if r.Text {
		kind = "text"
	}
	what := fmt.Sprintf("%d connections, ", r.Connections)
	switch {
	case r.Rate > 0:
		return what + fmt.Sprintf("open loop of %g %s messages/s of %d bytes, %s", r.Rate, kind, r.Size, r.Pattern)
	case r.Echo:
		return what + fmt.Sprintf("closed loop of %s messages of %d bytes", kind, r.Size)
	}
	return what + "nothing is sent"
}
