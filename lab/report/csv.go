package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/lab/result"
)

// column is a column of trials.csv. Names and units are those of results.json.
type column struct {
	name string
	of   func(*result.Trial) string
}

func number(name string, of func(*result.Trial) float64) column {
	return column{name, func(t *result.Trial) string {
		if v := of(t); !math.IsNaN(v) && !math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		return ""
	}}
}

func integer(name string, of func(*result.Trial) int64) column {
	return column{name, func(t *result.Trial) string { return strconv.FormatInt(of(t), 10) }}
}

func word(name string, of func(*result.Trial) string) column { return column{name, of} }

var columns = []column{
	integer("id", func(t *result.Trial) int64 { return int64(t.ID) }),
	word("subject", func(t *result.Trial) string { return harmless(t.Subject) }),
	word("load", func(t *result.Trial) string { return harmless(t.Load) }),
	integer("connections", func(t *result.Trial) int64 { return int64(t.Connections) }),
	word("pattern", func(t *result.Trial) string { return harmless(t.Pattern) }),
	integer("block", func(t *result.Trial) int64 { return int64(t.Block) }),
	integer("position", func(t *result.Trial) int64 { return int64(t.Position) }),
	integer("attempt", func(t *result.Trial) int64 { return int64(t.Attempt) }),
	word("started", func(t *result.Trial) string { return t.Started.UTC().Format(time.RFC3339Nano) }),
	number("cpu_percent_mean", func(t *result.Trial) float64 { return t.CPUPercentMean }),
	number("cpu_cv", func(t *result.Trial) float64 {
		if t.CPUCV == 0 {
			return math.NaN() // a trial of one window has none
		}
		return t.CPUCV
	}),
	number("cpu_us_per_message", func(t *result.Trial) float64 { return t.CPUUSPerMessage }),
	number("load_us_per_message", func(t *result.Trial) float64 { return t.LoadUSPerMsg }),
	number("machine_us_per_message", func(t *result.Trial) float64 { return t.MachineUSPerMsg }),
	number("cold_us_per_message", func(t *result.Trial) float64 { return t.ColdUSPerMsg }),
	integer("warm_messages", func(t *result.Trial) int64 { return t.WarmMessages }),
	word("unsteady", func(t *result.Trial) string { return strconv.FormatBool(t.Unsteady) }),
	integer("messages", func(t *result.Trial) int64 { return t.Messages }),
	integer("bytes", func(t *result.Trial) int64 { return t.Bytes }),
	number("offered_rate", func(t *result.Trial) float64 { return t.OfferedRate }),
	number("achieved_ratio", func(t *result.Trial) float64 { return t.AchievedRatio }),
	integer("behind", func(t *result.Trial) int64 { return t.Behind }),
	number("lateness_us_p50", func(t *result.Trial) float64 { return t.LatenessUS.P50 }),
	number("lateness_us_p99", func(t *result.Trial) float64 { return t.LatenessUS.P99 }),
	number("lateness_us_p999", func(t *result.Trial) float64 { return t.LatenessUS.P999 }),
	number("spread_us_p50", func(t *result.Trial) float64 { return t.SpreadUS.P50 }),
	number("spread_us_p99", func(t *result.Trial) float64 { return t.SpreadUS.P99 }),
	integer("churn_offered", func(t *result.Trial) int64 { return churn(t).Offered }),
	integer("churn_done", func(t *result.Trial) int64 { return churn(t).Done }),
	integer("churn_behind", func(t *result.Trial) int64 { return churn(t).Behind }),
	number("churn_duration_us_p50", func(t *result.Trial) float64 { return churn(t).DurationUS.P50 }),
	number("churn_duration_us_p99", func(t *result.Trial) float64 { return churn(t).DurationUS.P99 }),
	number("latency_us_p50", func(t *result.Trial) float64 { return t.LatencyUS.P50 }),
	number("latency_us_p99", func(t *result.Trial) float64 { return t.LatencyUS.P99 }),
	number("latency_us_p999", func(t *result.Trial) float64 { return t.LatencyUS.P999 }),
	integer("requests_attempted", func(t *result.Trial) int64 { return requestsOf(t).Attempted }),
	integer("requests_answered", func(t *result.Trial) int64 { return requestsOf(t).Answered }),
	integer("requests_failed", func(t *result.Trial) int64 { return requestsOf(t).Failed }),
	integer("body_bytes", func(t *result.Trial) int64 { return requestsOf(t).BodyBytes }),
	number("load_run_queue_ratio", func(t *result.Trial) float64 { return t.LoadRunQueue }),
	number("run_queue_ratio", func(t *result.Trial) float64 { return t.RunQueueRatio }),
	word("limit", func(t *result.Trial) string { return harmless(t.Limit) }),
	number("window_s", func(t *result.Trial) float64 { return t.WindowS }),
	integer("peak_rss_kb", func(t *result.Trial) int64 { return t.Memory.PeakRSSKB }),
	integer("pss_kb", func(t *result.Trial) int64 { return t.Memory.PSSKB }),
	integer("processes", func(t *result.Trial) int64 { return int64(t.Memory.Processes) }),
	integer("threads", func(t *result.Trial) int64 { return int64(t.Memory.Threads) }),
	integer("voluntary_switches", func(t *result.Trial) int64 { return t.Switches.Voluntary }),
	integer("involuntary_switches", func(t *result.Trial) int64 { return t.Switches.Involuntary }),
	word("accepted", func(t *result.Trial) string { return strconv.FormatBool(t.Accepted) }),
	word("refused_because", func(t *result.Trial) string { return harmless(strings.Join(t.RejectedBecause, "; ")) }),
	word("failed_because", func(t *result.Trial) string { return harmless(strings.Join(t.FailedBecause, "; ")) }),
	word("ended_badly", func(t *result.Trial) string { return harmless(t.StopFailure) }),
}

// harmless quotes a text that a spreadsheet would take as a formula.
func harmless(s string) string {
	if strings.HasPrefix(s, "=") || strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") || strings.HasPrefix(s, "@") {
		return "'" + s
	}
	return s
}

// trialsCSV returns all trials, rejected ones included, one per line. Unknown numbers are empty.
func trialsCSV(r *result.Results) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.name
	}
	_ = w.Write(row) // a bytes.Buffer takes everything
	for i := range r.Trials {
		for k, c := range columns {
			row[k] = c.of(&r.Trials[i])
		}
		_ = w.Write(row)
	}
	w.Flush()
	return b.Bytes()
}

// requestsOf returns the outcomes of a trial's requests, or zeros if it has none.
func requestsOf(t *result.Trial) result.HTTP {
	if t.HTTP == nil {
		return result.HTTP{}
	}
	return *t.HTTP
}

// churn returns a trial's short connections, or zeros if it has none.
func churn(t *result.Trial) result.Churn {
	if t.Churn == nil {
		return result.Churn{}
	}
	return *t.Churn
}
