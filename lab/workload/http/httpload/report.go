package httpload

import (
	"weir/lab/internal/tally"
	"weir/lab/load"
)

// Times summarizes a distribution in microseconds, as ab does.
type Times = tally.Times

// MixReport is what became of one of several described requests. Its counts and latencies are parts
// of those of the whole load.
type MixReport struct {
	Request       string  `json:"request"` // method and path
	Answered      int64   `json:"answered"`
	Failed        int64   `json:"failed"`
	LatencyMeanUS float64 `json:"latency_mean_us"`
	LatencyMaxUS  float64 `json:"latency_max_us"`

	latencies int64 // ns; sum
}

// finished returns m with its mean.
func (m MixReport) finished() MixReport {
	if m.Answered > 0 {
		m.LatencyMeanUS = float64(m.latencies) / float64(m.Answered) / 1e3
	}
	return m
}

// answered counts an answer with its latency in ns.
func (m *MixReport) answered(latency int64) {
	m.Answered++
	m.latencies += latency
	m.LatencyMaxUS = max(m.LatencyMaxUS, float64(latency)/1e3)
}

// Report is the outcome of a run. Its messages are complete and correct responses: see the package
// comment. In the closed loop requests that were started are offered, and latency counts from their
// start.
type Report struct {
	URL         string  `json:"url"`
	Address     string  `json:"address"` // of the server
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate"`    // configured requests per second; 0 in the closed loop
	Pattern     string  `json:"pattern"` // of the open loop; empty in the closed loop
	KeepAlive   bool    `json:"keep_alive"`
	// requests under way on a connection of HTTP/2; 0: HTTP/1.1
	Streams   int   `json:"streams,omitzero"`
	TimeoutNS int64 `json:"timeout_ns"`
	load.Report
	Described int `json:"described,omitzero"` // described requests; 0: a plain GET
	// the described requests, if there are several
	Mix       []MixReport `json:"mix,omitempty"`
	Attempted int64       `json:"attempted"` // requests started
	// requests not complete at the end of a run that was ended early
	Unfinished int64 `json:"unfinished"`
	BodyBytes  int64 `json:"body_bytes"` // of Messages, as transferred
	Encoded    int64 `json:"encoded"`    // Messages with a body in gzip
	Opened     int64 `json:"opened"`     // connections of the whole run

	// open loop: the latencies of LatencyUS in the figures of ab
	DueUS Times `json:"due_us,omitzero"`
	// of TCP connections opened in the window or before the first request
	ConnectUS Times `json:"connect_us"`
	// from the open connection to the first byte of the response
	WaitUS Times `json:"wait_us"`
	// from the open connection to the last byte of the response
	ProcessingUS Times `json:"processing_us"`
	// from the start of the request, connecting included, to the last byte of the response
	TotalUS Times `json:"total_us"`

	TLS *TLSReport `json:"tls,omitempty"` // nil: plain HTTP
	// why the load ended early; empty: it did not
	Stopped string `json:"stopped,omitempty"`
}
