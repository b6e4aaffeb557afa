package stackapp

import "time"

// Report is the result of a measurement between two ends inside one process. Counts are those of
// the window.
type Report struct {
	Operation   string `json:"operation"` // connect, bulk or rr
	Connections int    `json:"connections"`
	// operations; for bulk, each 65,536 bytes count as one
	Messages int64 `json:"messages"`
	// bytes that applications read: for connect and bulk at the far end, for rr at both
	Bytes       int64       `json:"bytes"`
	GbitS       float64     `json:"gbit_s"`
	MessageRate float64     `json:"message_rate"`        // messages a second
	LatencyUS   Percentiles `json:"latency_us,omitzero"` // of an operation; none for bulk
	MeanUS      float64     `json:"mean_us,omitzero"`
	// error texts with their counts, over the whole run; empty without errors
	Errors map[string]int64 `json:"errors"`
	// of this process: application and stack, both ends
	CPUNS        int64     `json:"cpu_ns"`
	WindowNS     int64     `json:"window_ns"`
	WarmNS       int64     `json:"warm_ns"`       // before the window
	WarmMessages int64     `json:"warm_messages"` // before the window
	Collector    Collector `json:"collector"`     // of the whole run
}

// Percentiles summarise times in microseconds.
type Percentiles struct {
	P01  float64 `json:"p01"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// report summarises the workers, which have all ended.
func (i *inside) report() Report {
	r := Report{Operation: i.Operation, Connections: i.Connections, Errors: i.errors, CPUNS: int64(i.cpu), WindowNS: int64(i.window), WarmNS: int64(i.warm),
		Bytes: i.bytes, Collector: ReadCollector()}
	var all histogram
	for _, w := range i.workers {
		all.add(&w.times)
		r.WarmMessages += w.warm
	}
	r.Messages, r.LatencyUS, r.MeanUS = all.count, all.percentiles(), all.mean()
	switch i.Operation {
	case Connect:
		r.Bytes = r.Messages * connectBytes
	case RR:
		r.Bytes = r.Messages * 2
	case Bulk:
		r.Messages, r.WarmMessages = r.Bytes/bulkMessage, i.warmBytes/bulkMessage
	}
	if seconds := time.Duration(r.WindowNS).Seconds(); seconds > 0 {
		r.GbitS, r.MessageRate = float64(r.Bytes)*8/1e9/seconds, float64(r.Messages)/seconds
	}
	return r
}
