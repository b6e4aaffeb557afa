package load

import (
	"weir/lab/internal/tally"
	"weir/lab/result"
)

// Report is what the reports of all loads share. Units are part of the JSON names. Counts are of
// the measured window unless stated otherwise; a generator's own report says what its messages are.
// Read the generator's own figures first: a load that was late or short proves nothing about the
// server.
type Report struct {
	// messages a second that were due; in a closed loop those that were started or arrived
	OfferedRate float64 `json:"offered_rate"`
	MessageRate float64 `json:"message_rate"` // Messages a second
	// Messages / Offered, or what the generator's own report says
	AchievedRatio float64 `json:"achieved_ratio"`
	Offered       int64   `json:"offered"` // messages due; in a closed loop started or arrived
	// of Offered: answered correctly, perhaps after the window
	Answered int64 `json:"answered"`
	Failed   int64 `json:"failed"`   // of Offered: never sent, lost, or answered wrongly
	Messages int64 `json:"messages"` // done in the window
	Bytes    int64 `json:"bytes"`    // of Messages
	// messages whose connection was full or busy when they were due
	Behind       int64 `json:"behind"`
	WarmMessages int64 `json:"warm_messages"` // done before the window

	// actual minus due time of sending, of messages whose connection was free
	LatenessUS result.Percentiles `json:"lateness_us"`
	// of Answered: from the due time (closed loop: from the start) to the last byte of the answer
	LatencyUS     result.Percentiles `json:"latency_us"`
	LatencyMeanUS float64            `json:"latency_mean_us,omitzero"` // of the same times
	// between consecutive messages of a connection
	GapUS result.Percentiles `json:"gap_us,omitzero"`
	// together: from the first message of a burst to its last
	SpreadUS result.Percentiles `json:"spread_us,omitzero"`

	// by kind, over the whole run; empty if there were none
	Errors    map[string]int64 `json:"errors"`
	Details   []string         `json:"details,omitempty"`    // the first few errors in full
	Interrupt bool             `json:"interrupted,omitzero"` // the window was cut short

	CPUNS int64 `json:"cpu_ns"` // CPU of this process
	// time in which the sending thread was runnable, but not running
	RunQueueNS int64 `json:"run_queue_ns"`
	WindowNS   int64 `json:"window_ns"`
	StartedNS  int64 `json:"started_ns"` // CLOCK_MONOTONIC; the start of the window

	// if asked for: the distributions of lateness, latency, gap and spread in ns, each in
	// HdrHistogram's compressed encoding, version 2, in base64; empty ones are left out
	Histograms map[string]string `json:"histograms,omitempty"`
}

// Trouble returns all errors by kind in one line; empty if there are none.
func (r *Report) Trouble() string { return tally.KindsText(r.Errors) }

// SetRates computes the rates from the counts of a span of ns.
func (r *Report) SetRates(span int64) {
	r.AchievedRatio = Ratio(r.Messages, r.Offered)
	if span > 0 {
		r.OfferedRate, r.MessageRate = float64(r.Offered)*1e9/float64(span), float64(r.Messages)*1e9/float64(span)
	}
}

// Ratio returns part / whole; 0 if the whole is not positive.
func Ratio(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
