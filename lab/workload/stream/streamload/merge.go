package streamload

import (
	"fmt"

	"weir/lab/load"
)

// churnHistogram is the name of the histogram of ChurnReport.DurationUS.
const churnHistogram = "churn"

// Merge returns the report of one load that several generators offered at the same time, each a
// part of it with histograms: see load.Merge. Settings are those of the first report.
func Merge(reports ...Report) (all Report, err error) {
	if len(reports) == 0 {
		return all, nil
	}
	all = reports[0]
	base := make([]load.Report, len(reports))
	var churn ChurnReport
	all.Connections, all.Idle, all.Writes, all.Owed, all.Echoed, all.Discarded, all.Churn = 0, 0, 0, 0, 0, 0, nil
	for i, r := range reports {
		if err := r.check(); err != nil {
			return all, fmt.Errorf("load: report %d: %w", i, err)
		}
		base[i] = r.Report
		all.Connections += r.Connections
		all.Idle += r.Idle
		all.Writes += r.Writes
		all.Owed += r.Owed
		all.Echoed += r.Echoed
		all.Discarded += r.Discarded
		if r.Churn != nil {
			all.Churn = &churn
			churn.Offered += r.Churn.Offered
			churn.Done += r.Churn.Done
			churn.Behind += r.Churn.Behind
		}
	}
	if all.Report, err = load.Merge(base...); err != nil {
		return all, err
	}
	durations, err := load.SumHistograms(churnHistogram, base...)
	churn.DurationUS = durations.Percentiles()
	all.SetHistogram(churnHistogram, durations)
	return all, err
}

// check returns an error for figures that no generator reports, beside those of all loads.
func (r *Report) check() error {
	if r.Size < 0 || r.Size > MaxSize {
		return fmt.Errorf("it is of messages of %d bytes, and they have at most %d", r.Size, MaxSize)
	}
	counts := []int64{int64(r.Connections), int64(r.Idle), r.Writes, r.Owed, r.Echoed, r.Discarded}
	if c := r.Churn; c != nil {
		bytes := min(c.Done, 1<<40) * int64(r.Size) // more do not overflow either
		counts = append(counts, c.Offered, c.Done, c.Behind, bytes)
	}
	return load.CheckCounts(counts...)
}
