package load

import (
	"fmt"

	"weir/lab/internal/tally"
	"weir/lab/result"
)

// The distributions whose histograms a report can carry, by their names in Report.Histograms.
var distributions = map[string]func(*Report) *result.Percentiles{
	"lateness": func(r *Report) *result.Percentiles { return &r.LatenessUS },
	"latency":  func(r *Report) *result.Percentiles { return &r.LatencyUS },
	"gap":      func(r *Report) *result.Percentiles { return &r.GapUS },
	"spread":   func(r *Report) *result.Percentiles { return &r.SpreadUS },
}

// Merge returns the report of one load that several generators offered at the same time, each a
// part of it with histograms. Counts, rates, errors and CPU are sums. Percentiles are those of all
// messages. The window is the longest, and started with the earliest.
func Merge(reports ...Report) (Report, error) {
	all := Report{Errors: map[string]int64{}}
	achieved, latencies := 0.0, 0.0
	for i, r := range reports {
		all.OfferedRate += r.OfferedRate
		all.MessageRate += r.MessageRate
		for sum, n := range map[*int64]int64{&all.Offered: r.Offered, &all.Answered: r.Answered, &all.Failed: r.Failed, &all.Messages: r.Messages, &all.Bytes: r.Bytes,
			&all.Behind: r.Behind, &all.WarmMessages: r.WarmMessages, &all.CPUNS: r.CPUNS, &all.RunQueueNS: r.RunQueueNS} {
			*sum += n
		}
		latencies += r.LatencyMeanUS * float64(r.Answered)
		achieved += r.AchievedRatio * float64(r.Offered)
		for kind, n := range r.Errors {
			all.Errors[kind] += n
		}
		all.Details = append(all.Details, r.Details...)
		all.Interrupt = all.Interrupt || r.Interrupt
		all.WindowNS = max(all.WindowNS, r.WindowNS)
		if all.StartedNS == 0 || r.StartedNS != 0 && r.StartedNS < all.StartedNS {
			all.StartedNS = r.StartedNS
		}
		for name, of := range distributions {
			if r.Histograms[name] == "" && *of(&r) != (result.Percentiles{}) {
				return all, fmt.Errorf("load: report %d has no histogram of its %s: run its load with --histograms", i, name)
			}
		}
	}
	if all.Details = all.Details[:min(len(all.Details), tally.DetailsKept)]; all.Offered > 0 {
		all.AchievedRatio = achieved / float64(all.Offered)
	}
	if all.Answered > 0 {
		all.LatencyMeanUS = latencies / float64(all.Answered)
	}
	return all, all.mergeHistograms(reports)
}

// mergeHistograms sets r's percentiles and histograms to those of all reports.
func (r *Report) mergeHistograms(reports []Report) error {
	for name, of := range distributions {
		var sum tally.Distribution // of the reports so far that have one
		for i := range reports {
			text := reports[i].Histograms[name]
			if text == "" {
				continue
			}
			d, err := tally.Decode(text)
			if err != nil {
				return fmt.Errorf("load: report %d: its histogram of the %s is invalid: %w", i, name, err)
			}
			if sum == (tally.Distribution{}) {
				sum = d
			} else {
				sum.Merge(d)
			}
		}
		if sum != (tally.Distribution{}) {
			*of(r) = sum.Percentiles()
			r.SetHistogram(name, sum)
		}
	}
	return nil
}

// SetHistogram adds the histogram of a distribution that is not empty: of lateness, latency, gap or
// spread.
func (r *Report) SetHistogram(name string, d tally.Distribution) {
	if d.Count() == 0 {
		return
	}
	if r.Histograms == nil {
		r.Histograms = map[string]string{}
	}
	r.Histograms[name] = d.Encode()
}
