package result

// Stack says whether the run was about TCP/IP stacks. Its connections are clients, flows of pings
// or connections of bulk, and a message of such a run is an operation that ended well: a ping, a
// connection, a round trip, or 65,536 bytes of bulk.
func (p Plan) Stack() bool { return IsStack(p.Workload) }

// IsStack says whether a workload is that of TCP/IP stacks.
func IsStack(workload string) bool { return workload == "stack" }

// The operations on a stack by its peer; and bulk, which with connect and round trips is done
// inside, between two ends on the stack itself.
const (
	OperationPing    = "ping"
	OperationConnect = "connect"
	OperationIn      = "in"
	OperationOut     = "out"
	OperationRR      = "rr"
	OperationIdle    = "idle"
	OperationBulk    = "bulk"
)

// BulkMessage is how many bytes of bulk count as a message.
const BulkMessage = 65536

// Operation is what a load does with a stack.
type Operation struct {
	Name string `json:"name,omitempty"`
	// both ends are on the stack, over its own loopback
	Inside    bool `json:"inside,omitempty"`
	Processes bool `json:"processes,omitempty"` // pings by as many processes of the system's ping
	// that the stack has; 0: all, and its peer the same
	Cores int `json:"cores,omitempty"`
}

// Bulk says whether the load moves as much as it can, so that its bytes count and not its messages.
func (o Operation) Bulk() bool {
	return o.Name == OperationIn || o.Name == OperationOut || o.Name == OperationBulk
}

// OnStack is what became of an operation in the measured window, beside what every trial tells.
type OnStack struct {
	Operation  string  `json:"operation"`
	Congestion string  `json:"congestion,omitempty"` // control of the peer's sockets
	MeanUS     float64 `json:"mean_us,omitempty"`    // of an operation; 0 of bulk
	GbitS      float64 `json:"gbit_s"`

	Due           int64 `json:"due,omitempty"`  // pings
	Lost          int64 `json:"lost,omitempty"` // of these
	SegmentsOut   int64 `json:"segments_out,omitempty"`
	SegmentsIn    int64 `json:"segments_in,omitempty"`
	Retransmitted int64 `json:"retransmitted,omitempty"` // of SegmentsOut

	BarePSSKB int64      `json:"bare_pss_kb,omitempty"` // memory before there was any connection
	Bare      *Collected `json:"bare,omitempty"`        // the same by the runtime's own account
	Before    *Collected `json:"before,omitempty"`      // at the window's begin
	After     *Collected `json:"after,omitempty"`       // at its end
}

// Collected is what a program with a collector says of it, of its whole life so far.
type Collected struct {
	HeapBytes   int64    `json:"heap_bytes"`  // of objects
	StackBytes  int64    `json:"stack_bytes"` // of goroutines
	Collections int64    `json:"collections"`
	Goroutines  int64    `json:"goroutines"`
	PausesNS    PausesNS `json:"pauses_ns"`
}

// PausesNS are those of the whole program.
type PausesNS struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}
