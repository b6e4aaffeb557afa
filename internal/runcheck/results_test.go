package runcheck

import (
	"encoding/json"
	"fmt"
	"slices"
)

// results is the part of results.json that other programs rely on. A nil pointer is a missing
// field.
type results struct {
	Trials      []trial      `json:"trials"`
	Comparisons []comparison `json:"comparisons"`
}

type trial struct {
	Subject         *string  `json:"subject"`
	Connections     *int     `json:"connections"`
	Pattern         *string  `json:"pattern"`
	CPUPercentMean  *float64 `json:"cpu_percent_mean"`
	CPUCV           *float64 `json:"cpu_cv"`
	CPUUSPerMessage *float64 `json:"cpu_us_per_message"`
	AchievedRatio   *float64 `json:"achieved_ratio"`
	LatenessUS      *struct {
		P50  *float64 `json:"p50"`
		P99  *float64 `json:"p99"`
		P999 *float64 `json:"p999"`
	} `json:"lateness_us"`
	Accepted       *bool           `json:"accepted"`
	RefusedBecause json.RawMessage `json:"refused_because"`
	FailedBecause  []string        `json:"failed_because"` // optional
}

type comparison struct {
	A       *string  `json:"a"`
	B       *string  `json:"b"`
	Metric  *string  `json:"metric"`
	Ratio   *float64 `json:"ratio"`
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	Verdict *string  `json:"verdict"`
}

var (
	patterns = []string{"staggered", "together", "poisson"}
	metrics  = []string{"cpu_us_per_message", "cpu_cv"}
	verdicts = []string{"different", "equivalent", "undecided"}
)

// faults lists what is wrong with the text of a results.json, one sentence each.
func faults(text []byte) []string {
	var r results
	if err := json.Unmarshal(text, &r); err != nil {
		return []string{err.Error()}
	}
	var all []string
	accepted := 0
	for i, t := range r.Trials {
		if why := t.fault(); why != "" {
			all = append(all, fmt.Sprintf("trial %d: %s", i, why))
		} else if *t.Accepted {
			accepted++
		}
	}
	if accepted == 0 {
		all = append(all, "no trial was accepted")
	}
	if len(r.Comparisons) == 0 {
		all = append(all, "there are no comparisons")
	}
	for i, c := range r.Comparisons {
		if why := c.fault(); why != "" {
			all = append(all, fmt.Sprintf("comparison %d: %s", i, why))
		}
	}
	return all
}

func (t trial) fault() string {
	switch {
	case t.Subject == nil || t.Connections == nil || t.Pattern == nil || t.CPUPercentMean == nil || t.CPUCV == nil || t.CPUUSPerMessage == nil ||
		t.AchievedRatio == nil || t.LatenessUS == nil || t.Accepted == nil || t.RefusedBecause == nil:
		return "a field is missing"
	case t.LatenessUS.P50 == nil || t.LatenessUS.P99 == nil || t.LatenessUS.P999 == nil:
		return "a percentile of lateness_us is missing"
	case *t.Subject == "" || *t.Connections < 1 || !slices.Contains(patterns, *t.Pattern):
		return "it does not say what was run"
	case *t.Accepted:
		return t.acceptedFault()
	}
	var reasons []string
	if err := json.Unmarshal(t.RefusedBecause, &reasons); err != nil || len(reasons)+len(t.FailedBecause) == 0 {
		return "it was refused without a reason"
	}
	return ""
}

func (t trial) acceptedFault() string {
	switch {
	case *t.CPUPercentMean <= 0 || *t.CPUUSPerMessage <= 0 || *t.CPUCV < 0:
		return "it was accepted and cost nothing"
	case *t.AchievedRatio < 0.9 || *t.AchievedRatio > 1.1:
		return fmt.Sprintf("it was accepted and achieved %.3f of its load", *t.AchievedRatio)
	case *t.LatenessUS.P50 > *t.LatenessUS.P99 || *t.LatenessUS.P99 > *t.LatenessUS.P999:
		return "its percentiles are not in order"
	}
	return ""
}

func (c comparison) fault() string {
	switch {
	case c.A == nil || c.B == nil || c.Metric == nil || c.Ratio == nil || c.Low == nil || c.High == nil || c.Verdict == nil:
		return "a field is missing"
	case !slices.Contains(metrics, *c.Metric):
		return fmt.Sprintf("the metric %q is unknown", *c.Metric)
	case !slices.Contains(verdicts, *c.Verdict):
		return fmt.Sprintf("the verdict %q is unknown", *c.Verdict)
	case *c.Low == 0 && *c.High == 0:
		if *c.Verdict != "undecided" {
			return fmt.Sprintf("it is %s without an interval", *c.Verdict)
		}
	case *c.Low > *c.Ratio || *c.Ratio > *c.High:
		return fmt.Sprintf("the ratio %g is outside its interval [%g, %g]", *c.Ratio, *c.Low, *c.High)
	}
	return ""
}
