package http

import (
	"encoding/json"

	"weir/lab/load"
	"weir/lab/workload"
	"weir/lab/workload/http/httpload"
)

// Split implements workload.Splitter. The rate of a load is for each connection.
func (*session) Split(l workload.Load, c workload.Cell, n int) ([]workload.Share, error) {
	return workload.SplitCell(l, c, n)
}

// Merge implements workload.Splitter.
func (*session) Merge(reports []json.RawMessage) (json.RawMessage, error) {
	return load.MergeJSON(httpload.Merge, reports)
}
