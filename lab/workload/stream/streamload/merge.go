package streamload

import "weir/lab/load"

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
