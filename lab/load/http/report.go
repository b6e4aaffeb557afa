package http

import (
	"weir/lab/load/internal/tally"
	"weir/lab/result"
)

// Times sums up a distribution in microseconds, as ab does.
type Times = tally.Times

// Report is what a run did, as data. Units stand in the JSON names; counts are of the measured
// window unless said otherwise (see the package comment for what that means).
type Report struct {
	URL         string  `json:"url"`
	Address     string  `json:"address"` // of the server
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate"` // requests a second asked for in all, 0 in the closed loop
	KeepAlive   bool    `json:"keep_alive"`
	TimeoutNS   int64   `json:"timeout_ns"`

	// requests a second that were due, in the closed loop begun
	OfferedRate   float64 `json:"offered_rate"`
	MessageRate   float64 `json:"message_rate"`   // messages a second
	AchievedRatio float64 `json:"achieved_ratio"` // Messages / Offered
	Offered       int64   `json:"offered"`        // requests due, in the closed loop begun
	Attempted     int64   `json:"attempted"`      // requests begun
	// answers that came whole and right in the window, whenever they were due
	Messages int64 `json:"messages"`
	// of those offered, answered whole and right, if perhaps after the window
	Answered int64 `json:"answered"`
	// of those offered, failed; in the closed loop that failed in the window
	Failed int64 `json:"failed"`
	// undecided at the end: of a run that was cut short
	Unfinished int64 `json:"unfinished"`
	Bytes      int64 `json:"bytes"`      // of Messages, heads included
	BodyBytes  int64 `json:"body_bytes"` // of Messages, as they were sent
	Encoded    int64 `json:"encoded"`    // of Messages, those whose body came in gzip
	// requests that were due on a connection that was busy
	Behind       int64 `json:"behind"`
	WarmMessages int64 `json:"warm_messages"` // answered whole and right before the window
	Opened       int64 `json:"opened"`        // connections made, the whole run

	// open loop: actual - due time of sending, of requests whose connection was free
	LatenessUS result.Percentiles `json:"lateness_us"`
	// of Answered: from the due time to the answer's last byte, in the closed loop from the begin
	LatencyUS result.Percentiles `json:"latency_us"`
	// mean of the same times
	LatencyMeanUS float64 `json:"latency_mean_us"`
	// open loop: the same as LatencyUS, with ab's figures
	DueUS Times `json:"due_us,omitzero"`
	// of connections made in the window or before the first request
	ConnectUS Times `json:"connect_us"`
	// from when the request could be sent to the answer's first byte
	WaitUS Times `json:"wait_us"`
	// from when the request could be sent to the answer's last byte
	ProcessingUS Times `json:"processing_us"`
	// from the request's begin, connecting included, to the answer's last byte
	TotalUS Times `json:"total_us"`

	// kind to count, the whole run; empty when nothing went wrong
	Errors    map[string]int64 `json:"errors"`
	Details   []string         `json:"details,omitempty"` // the first few errors in full
	Interrupt bool             `json:"interrupted,omitzero"`
	Stopped   string           `json:"stopped,omitempty"` // why the load itself ended early

	CPUNS      int64 `json:"cpu_ns"`       // of this process
	RunQueueNS int64 `json:"run_queue_ns"` // the loop's thread was ready and waited for a core
	WindowNS   int64 `json:"window_ns"`
	StartedNS  int64 `json:"started_ns"` // CLOCK_MONOTONIC; the window's begin
}

// Trouble is one line that tells all errors by kind, or empty.
func (r *Report) Trouble() string { return tally.KindsText(r.Errors) }
