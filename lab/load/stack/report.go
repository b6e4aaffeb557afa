package stack

import (
	"weir/lab/load/internal/tally"
	"weir/lab/result"
)

// Report is what a run did, as data. Units stand in the JSON names; counts are of the measured
// window unless said otherwise (see the package comment for what that means).
type Report struct {
	Operation   string  `json:"operation"`
	Address     string  `json:"address"` // of the stack, with the port of its service
	Connections int     `json:"connections,omitzero"`
	Congestion  string  `json:"congestion,omitempty"` // control of the sockets here
	Flows       int     `json:"flows,omitzero"`       // of pings
	Processes   int     `json:"processes,omitzero"`   // of the system's ping
	Rate        float64 `json:"rate,omitzero"`        // pings a second asked for, all flows
	Size        int     `json:"size,omitzero"`        // bytes of a ping's payload
	Together    bool    `json:"together,omitzero"`
	TimeoutNS   int64   `json:"timeout_ns"`

	OfferedRate float64 `json:"offered_rate"` // pings due a second, other operations begun
	// of pings: answered / due; otherwise 1, or 0 when there was nothing
	AchievedRatio float64 `json:"achieved_ratio"`
	Offered       int64   `json:"offered"` // pings due
	// operations that ended well; of bulk 65,536 bytes each; of idle connections held to the end
	Messages    int64   `json:"messages"`
	MessageRate float64 `json:"message_rate"` // messages a second
	// of payload, carried in the operation's direction, of rr and ping in both; of in acknowledged
	Bytes        int64   `json:"bytes"`
	GbitS        float64 `json:"gbit_s"`
	WarmMessages int64   `json:"warm_messages"` // before the window
	Opened       int64   `json:"opened"`        // connections made, the whole run
	// of in: connections whose end of stream, after the window, said that every byte has arrived
	Confirmed int64 `json:"confirmed,omitzero"`

	// of an operation: connect from the socket to the end of stream, rr and ping both ways; none of
	// bulk
	LatencyUS   result.Percentiles `json:"latency_us,omitzero"`
	MeanUS      float64            `json:"mean_us,omitzero"`      // of the same
	OperationUS tally.Times        `json:"operation_us,omitzero"` // of the same, with more figures
	// of making a connection: those of the window, otherwise of all
	ConnectUS tally.Times `json:"connect_us,omitzero"`
	// pings: actual - due time of sending
	LatenessUS result.Percentiles `json:"lateness_us,omitzero"`

	// pings that were due in the window and not answered in time
	Lost int64 `json:"lost"`
	// pings without a time stamp of sending: this program's own clock stands in for it
	Unstamped int64 `json:"unstamped,omitzero"`
	// of TCP, each at most an MSS long; of connect those of the connections that ended in the
	// window
	SegmentsOut   int64 `json:"segments_out"`
	SegmentsIn    int64 `json:"segments_in"`
	Retransmitted int64 `json:"retransmitted"` // of SegmentsOut, sent again

	// kind to count, the whole run; empty when nothing went wrong
	Errors  map[string]int64 `json:"errors"`
	Details []string         `json:"details,omitempty"` // the first few errors in full
	// what is likely to spoil the figures, one sentence each
	Notes     []string `json:"notes,omitempty"`
	Interrupt bool     `json:"interrupted,omitzero"`

	CPUNS         int64 `json:"cpu_ns"`                   // of this process
	ChildrenCPUNS int64 `json:"children_cpu_ns,omitzero"` // of the system's pings, the whole run
	// the loop's thread was ready and waited for a core
	RunQueueNS int64 `json:"run_queue_ns"`
	WindowNS   int64 `json:"window_ns"`
	StartedNS  int64 `json:"started_ns"` // CLOCK_MONOTONIC; the window's begin
}

// Trouble is one line that tells all errors by kind, or empty.
func (r *Report) Trouble() string { return tally.KindsText(r.Errors) }
