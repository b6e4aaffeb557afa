package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"weir/internal/printable"
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
		if err := r.check(); err != nil {
			return all, fmt.Errorf("load: report %d: %w", i, err)
		}
		all.OfferedRate += r.OfferedRate
		all.MessageRate += r.MessageRate
		for sum, n := range map[*int64]int64{&all.Offered: r.Offered, &all.Answered: r.Answered, &all.Failed: r.Failed, &all.Messages: r.Messages, &all.Bytes: r.Bytes,
			&all.Behind: r.Behind, &all.WarmMessages: r.WarmMessages, &all.CPUNS: r.CPUNS, &all.RunQueueNS: r.RunQueueNS} {
			*sum += n
		}
		latencies += r.LatencyMeanUS * float64(r.Answered)
		achieved += r.AchievedRatio * float64(r.Offered)
		for kind, n := range r.Errors {
			all.Errors[printable.Text(kind)] += n
		}
		for _, text := range r.Details {
			all.Details = append(all.Details, printable.Text(text))
		}
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

// Limits of a report that another machine sent.
const (
	maxCount     = 1 << 53 // of messages, bytes and ns: sums of a thousand reports do not overflow
	maxKinds     = 100     // of errors
	maxErrorText = 1000    // bytes of a kind of error, or of an error in full
)

// CheckCounts returns an error for counts that no generator reports: each is from 0 to 2^53.
func CheckCounts(counts ...int64) error {
	for _, n := range counts {
		if n < 0 || n > maxCount {
			return fmt.Errorf("it has the count %d, and a count is from 0 to %d", n, int64(maxCount))
		}
	}
	return nil
}

// check returns an error for figures that no generator reports.
func (r *Report) check() error {
	if err := CheckCounts(r.Offered, r.Answered, r.Failed, r.Messages, r.Bytes, r.Behind, r.WarmMessages, r.CPUNS, r.RunQueueNS, r.WindowNS); err != nil {
		return err
	}
	for _, rate := range []float64{r.OfferedRate, r.MessageRate, r.AchievedRatio, r.LatencyMeanUS} {
		if rate < 0 || rate > maxCount {
			return fmt.Errorf("it has the rate %g, and a rate is from 0 to %g", rate, float64(maxCount))
		}
	}
	if len(r.Errors) > maxKinds || len(r.Details) > maxKinds {
		return fmt.Errorf("it has more than %d kinds of errors", maxKinds)
	}
	texts := slices.Clone(r.Details)
	for kind, n := range r.Errors {
		if texts = append(texts, kind); n < 0 || n > maxCount {
			return fmt.Errorf("it has %d errors of a kind", n)
		}
	}
	for _, text := range texts {
		if len(text) > maxErrorText {
			return errors.New("it has an error text that is too long")
		}
	}
	return nil
}

// mergeHistograms sets r's percentiles and histograms to those of all reports.
func (r *Report) mergeHistograms(reports []Report) error {
	for name, of := range distributions {
		sum, err := SumHistograms(name, reports...)
		if err != nil {
			return err
		}
		*of(r) = sum.Percentiles()
		r.SetHistogram(name, sum)
	}
	return nil
}

// SumHistograms returns the distribution of that name of all reports together. It is empty if no
// report has it.
func SumHistograms(name string, reports ...Report) (tally.Distribution, error) {
	sum := tally.NewDistribution()
	for i := range reports {
		text := reports[i].Histograms[name]
		if text == "" {
			continue
		}
		d, err := tally.Decode(text)
		if err != nil {
			return sum, fmt.Errorf("load: report %d: its histogram of the %s is invalid: %w", i, name, err)
		}
		sum.Merge(d)
	}
	return sum, nil
}

// MergeJSON decodes reports of the type R, merges them and encodes the result.
func MergeJSON[R any](merge func(...R) (R, error), reports []json.RawMessage) (json.RawMessage, error) {
	all := make([]R, len(reports))
	for i, text := range reports {
		if err := json.Unmarshal(text, &all[i]); err != nil {
			return nil, fmt.Errorf("load: report %d is invalid: %w", i, err)
		}
	}
	merged, err := merge(all...)
	if err != nil {
		return nil, err
	}
	return json.Marshal(merged)
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
