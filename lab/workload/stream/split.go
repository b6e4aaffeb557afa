package stream

import (
	"encoding/json"

	"weir/lab/load"
	"weir/lab/workload"
	"weir/lab/workload/stream/streamload"
)

// Split implements workload.Splitter. Idle connections and short ones are divided too.
func (session) Split(l workload.Load, c workload.Cell, n int) ([]workload.Share, error) {
	all, err := workload.SplitCell(l, c, n)
	for i, s := range all {
		of, whole := s.Load.(*Load), l.(*Load)
		of.Idle, of.Churn = workload.Portion(whole.Idle, n, i), whole.Churn/float64(n)
	}
	return all, err
}

// Merge implements workload.Splitter.
func (session) Merge(reports []json.RawMessage) (json.RawMessage, error) {
	return load.MergeJSON(streamload.Merge, reports)
}
