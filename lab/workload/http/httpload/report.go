package httpload

import (
	"weir/lab/internal/tally"
	"weir/lab/result"
)

// Times summarizes a distribution in microseconds, as ab does.
type Times = tally.Times

// Report is the outcome of a run. The JSON names contain the units. Counts are of the measured
// window, as defined in the package comment, unless the comment says otherwise.
type Report struct {
	URL         string  `json:"url"`
	Address     string  `json:"address"` // of the server
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate"`    // configured requests per second; 0 in the closed loop
	Pattern     string  `json:"pattern"` // of the open loop; empty in the closed loop
	KeepAlive   bool    `json:"keep_alive"`
	TimeoutNS   int64   `json:"timeout_ns"`

	// requests per second that were due; in the closed loop started
	OfferedRate   float64 `json:"offered_rate"`
	MessageRate   float64 `json:"message_rate"`   // messages per second
	AchievedRatio float64 `json:"achieved_ratio"` // Messages / Offered
	Offered       int64   `json:"offered"`        // requests due; in the closed loop started
	Attempted     int64   `json:"attempted"`      // requests started
	// complete and correct responses in the window, to requests due at any time
	Messages int64 `json:"messages"`
	// of Offered: with a complete and correct response, even after the window
	Answered int64 `json:"answered"`
	// of Offered: failed; in the closed loop those that failed in the window
	Failed int64 `json:"failed"`
	// requests not complete at the end of a run that was ended early
	Unfinished int64 `json:"unfinished"`
	Bytes      int64 `json:"bytes"`      // of Messages, with their heads
	BodyBytes  int64 `json:"body_bytes"` // of Messages, as transferred
	Encoded    int64 `json:"encoded"`    // Messages with a body in gzip
	// requests that were due on a busy connection
	Behind       int64 `json:"behind"`
	WarmMessages int64 `json:"warm_messages"` // complete and correct responses before the window
	Opened       int64 `json:"opened"`        // connections of the whole run

	// open loop: actual minus due send time of requests whose connection was free
	LatenessUS result.Percentiles `json:"lateness_us"`
	// of Answered: from the due time, in the closed loop from the start, to the last byte
	LatencyUS result.Percentiles `json:"latency_us"`
	// mean of the same latencies
	LatencyMeanUS float64 `json:"latency_mean_us"`
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

	// errors of the whole run by kind
	Errors    map[string]int64 `json:"errors"`
	Details   []string         `json:"details,omitempty"` // the first few errors in full
	Interrupt bool             `json:"interrupted,omitzero"`
	// why the load ended early; empty: it did not
	Stopped string `json:"stopped,omitempty"`

	CPUNS int64 `json:"cpu_ns"` // of this process
	// time in which the loop's thread was runnable, not running
	RunQueueNS int64 `json:"run_queue_ns"`
	WindowNS   int64 `json:"window_ns"`
	StartedNS  int64 `json:"started_ns"` // CLOCK_MONOTONIC; start of the window
}

// Trouble returns all errors by kind in one line, or "".
func (r *Report) Trouble() string { return tally.KindsText(r.Errors) }
