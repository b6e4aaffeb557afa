package result

// The operations on a stack. Its peer performs them. Bulk, connect and rr are also run inside the
// stack, between two endpoints on its own loopback.
const (
	OperationPing    = "ping"    // ICMP echo requests
	OperationConnect = "connect" // connect, transfer 4 kB, close
	OperationIn      = "in"      // bulk data to the stack
	OperationOut     = "out"     // bulk data from the stack
	OperationRR      = "rr"      // a byte to the stack and back
	OperationIdle    = "idle"    // open connections without data
	OperationBulk    = "bulk"    // bulk data over the stack's own loopback
)

// BulkMessage is the number of bytes of bulk data that count as one message.
const BulkMessage = 65536

// Operation is what a load does with a stack.
type Operation struct {
	Name string `json:"name,omitempty"`
	// both endpoints are on the stack, over its own loopback
	Inside    bool `json:"inside,omitempty"`
	Processes bool `json:"processes,omitempty"` // one process of the system's ping for each flow
	// cores of the stack; its peer has the others. 0: both use all cores
	Cores int `json:"cores,omitempty"`
}

// Bulk reports whether the load transfers as much as it can, so that throughput is measured.
func (o Operation) Bulk() bool {
	return o.Name == OperationIn || o.Name == OperationOut || o.Name == OperationBulk
}

// OnStack holds the figures of a trial that only operations on a TCP/IP stack have.
type OnStack struct {
	Operation  string  `json:"operation"`
	Congestion string  `json:"congestion,omitempty"` // congestion control of the peer's sockets
	MeanUS     float64 `json:"mean_us,omitempty"`    // mean time of an operation; 0 for bulk data
	GbitS      float64 `json:"gbit_s"`               // throughput

	Due           int64 `json:"due,omitempty"`           // pings due in the window
	Lost          int64 `json:"lost,omitempty"`          // of these, without a reply in time
	SegmentsOut   int64 `json:"segments_out,omitempty"`  // segments that the peer sent
	SegmentsIn    int64 `json:"segments_in,omitempty"`   // segments that the peer received
	Retransmitted int64 `json:"retransmitted,omitempty"` // of SegmentsOut

	BarePSSKB int64 `json:"bare_pss_kb,omitempty"` // PSS before the first connection
	// runtime figures before the first connection
	Bare *RuntimeStats `json:"bare,omitempty"`
	// runtime figures at the start of the window
	Before *RuntimeStats `json:"before,omitempty"`
	After  *RuntimeStats `json:"after,omitempty"` // runtime figures at the end of the window
}

// RuntimeStats holds the figures of a garbage-collecting runtime since the start of its process.
type RuntimeStats struct {
	HeapBytes   int64    `json:"heap_bytes"`  // of live and dead objects
	StackBytes  int64    `json:"stack_bytes"` // of goroutines
	Collections int64    `json:"collections"`
	Goroutines  int64    `json:"goroutines"`
	PausesNS    PausesNS `json:"pauses_ns"`
}

// PausesNS holds the percentiles of the stop-the-world pauses in nanoseconds.
type PausesNS struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}
