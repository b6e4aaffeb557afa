package stackload

import (
	"weir/lab/internal/tally"
	"weir/lab/load"
)

// Report is the outcome of a run. Its messages are successful operations, 65,536 bytes of bulk
// data, or idle connections that were held to the end. Bytes are payload in the operation's
// direction, for rr and ping in both; for in acknowledged bytes. Latency is of an operation:
// connect from the socket to the end of stream, rr and ping both ways; bulk data has none. Only
// pings have lateness; for other operations all messages are offered.
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

	load.Report
	GbitS  float64 `json:"gbit_s"`
	Opened int64   `json:"opened"` // connections of the whole run
	// in: connections whose end of stream after the window confirmed that all data has arrived
	Confirmed int64 `json:"confirmed,omitzero"`

	MeanUS float64 `json:"mean_us,omitzero"` // mean of the latencies
	// more figures of the same latencies
	OperationUS tally.Times `json:"operation_us,omitzero"`
	// of opening a connection: those in the window, or all if there are none
	ConnectUS tally.Times `json:"connect_us,omitzero"`

	// pings that were due in the window and not answered in time
	Lost int64 `json:"lost"`
	// pings without a time stamp of sending, timed by the clock of this program
	Unstamped int64 `json:"unstamped,omitzero"`
	// TCP segments of at most one MSS; for connect those of connections that ended in the window
	SegmentsOut   int64 `json:"segments_out"`
	SegmentsIn    int64 `json:"segments_in"`
	Retransmitted int64 `json:"retransmitted"` // of SegmentsOut

	// conditions that probably distort the figures, one sentence each
	Notes []string `json:"notes,omitempty"`
	// of the system's pings in the whole run
	ChildrenCPUNS int64 `json:"children_cpu_ns,omitzero"`
}
