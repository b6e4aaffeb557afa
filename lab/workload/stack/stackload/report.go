package stackload

import (
	"weir/lab/internal/tally"
	"weir/lab/result"
)

// Report is the outcome of a run. The JSON names contain the units. Counts are of the measured
// window, as defined in the package comment, unless the comment says otherwise.
type Report struct {
	Operation   string  `json:"operation"`
	Address     string  `json:"address"` // of the stack, with the port of its service
	Connections int     `json:"connections,omitzero"`
	Congestion  string  `json:"congestion,omitempty"` // congestion control of the sockets here
	Flows       int     `json:"flows,omitzero"`       // of pings
	Processes   int     `json:"processes,omitzero"`   // of the system's ping
	Rate        float64 `json:"rate,omitzero"`        // configured pings per second, all flows
	Size        int     `json:"size,omitzero"`        // bytes of a ping's payload
	Together    bool    `json:"together,omitzero"`
	TimeoutNS   int64   `json:"timeout_ns"`

	OfferedRate float64 `json:"offered_rate"` // pings due, or other operations, per second
	// answered / due pings; for other operations 1, or 0 without any
	AchievedRatio float64 `json:"achieved_ratio"`
	Offered       int64   `json:"offered"` // pings due
	// successful operations; for bulk data 65,536 bytes each; for idle connections held to the end
	Messages    int64   `json:"messages"`
	MessageRate float64 `json:"message_rate"` // messages per second
	// payload in the operation's direction, for rr and ping in both; for in acknowledged bytes
	Bytes        int64   `json:"bytes"`
	GbitS        float64 `json:"gbit_s"`
	WarmMessages int64   `json:"warm_messages"` // before the window
	Opened       int64   `json:"opened"`        // connections of the whole run
	// in: connections whose end of stream after the window confirmed that all data has arrived
	Confirmed int64 `json:"confirmed,omitzero"`

	// of an operation: connect from the socket to the end of stream, rr and ping both ways; none
	// for bulk data
	LatencyUS result.Percentiles `json:"latency_us,omitzero"`
	MeanUS    float64            `json:"mean_us,omitzero"` // mean of the same latencies
	// more figures of the same latencies
	OperationUS tally.Times `json:"operation_us,omitzero"`
	// of opening a connection: those in the window, or all if there are none
	ConnectUS tally.Times `json:"connect_us,omitzero"`
	// pings: actual minus due send time
	LatenessUS result.Percentiles `json:"lateness_us,omitzero"`

	// pings that were due in the window and not answered in time
	Lost int64 `json:"lost"`
	// pings without a time stamp of sending, timed by the clock of this program
	Unstamped int64 `json:"unstamped,omitzero"`
	// TCP segments of at most one MSS; for connect those of connections that ended in the window
	SegmentsOut   int64 `json:"segments_out"`
	SegmentsIn    int64 `json:"segments_in"`
	Retransmitted int64 `json:"retransmitted"` // of SegmentsOut

	// errors of the whole run by kind
	Errors  map[string]int64 `json:"errors"`
	Details []string         `json:"details,omitempty"` // the first few errors in full
	// conditions that probably distort the figures, one sentence each
	Notes     []string `json:"notes,omitempty"`
	Interrupt bool     `json:"interrupted,omitzero"`

	CPUNS         int64 `json:"cpu_ns"`                   // of this process
	ChildrenCPUNS int64 `json:"children_cpu_ns,omitzero"` // of the system's pings in the whole run
	// time in which the loop's thread was runnable, but not running
	RunQueueNS int64 `json:"run_queue_ns"`
	WindowNS   int64 `json:"window_ns"`
	StartedNS  int64 `json:"started_ns"` // CLOCK_MONOTONIC; start of the window
}

// Trouble returns all errors by kind in one line, or "".
func (r *Report) Trouble() string { return tally.KindsText(r.Errors) }
