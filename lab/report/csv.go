package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"weir/lab/result"
)

// columns are the columns of trials.csv with their fields of a trial. Names and units are those of
// results.json.
var columns = [][2]string{
	{"id", "ID"}, {"subject", "Subject"}, {"load", "Load"}, {"connections", "Connections"}, {"pattern", "Pattern"},
	{"block", "Block"}, {"position", "Position"}, {"attempt", "Attempt"}, {"started", "Started"},
	{"cpu_percent_mean", "CPUPercentMean"}, {"cpu_cv", "CPUCV"}, {"cpu_us_per_message", "CPUUSPerMessage"},
	{"load_us_per_message", "LoadUSPerMsg"}, {"machine_us_per_message", "MachineUSPerMsg"},
	{"cold_us_per_message", "ColdUSPerMsg"}, {"warm_messages", "WarmMessages"}, {"unsteady", "Unsteady"},
	{"messages", "Messages"}, {"bytes", "Bytes"}, {"offered_rate", "OfferedRate"}, {"achieved_ratio", "AchievedRatio"}, {"behind", "Behind"},
	{"lateness_us_p50", "LatenessUS.P50"}, {"lateness_us_p99", "LatenessUS.P99"}, {"lateness_us_p999", "LatenessUS.P999"},
	{"spread_us_p50", "SpreadUS.P50"}, {"spread_us_p99", "SpreadUS.P99"},
	{"churn_offered", "Churn.Offered"}, {"churn_done", "Churn.Done"}, {"churn_behind", "Churn.Behind"},
	{"churn_duration_us_p50", "Churn.DurationUS.P50"}, {"churn_duration_us_p99", "Churn.DurationUS.P99"},
	{"latency_us_p50", "LatencyUS.P50"}, {"latency_us_p99", "LatencyUS.P99"}, {"latency_us_p999", "LatencyUS.P999"},
	{"requests_attempted", "HTTP.Attempted"}, {"requests_answered", "HTTP.Answered"}, {"requests_failed", "HTTP.Failed"}, {"body_bytes", "HTTP.BodyBytes"},
	{"load_run_queue_ratio", "LoadRunQueue"}, {"run_queue_ratio", "RunQueueRatio"}, {"limit", "Limit"}, {"window_s", "WindowS"},
	{"peak_rss_kb", "Memory.PeakRSSKB"}, {"pss_kb", "Memory.PSSKB"}, {"processes", "Memory.Processes"}, {"threads", "Memory.Threads"},
	{"voluntary_switches", "Switches.Voluntary"}, {"involuntary_switches", "Switches.Involuntary"},
	{"accepted", "Accepted"}, {"refused_because", "RejectedBecause"}, {"failed_because", "FailedBecause"}, {"ended_badly", "StopFailure"},
}

// trialsCSV returns all trials, rejected ones included, one per line. Unknown numbers are empty.
func trialsCSV(r *result.Results) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c[0]
	}
	_ = w.Write(row) // a bytes.Buffer takes everything
	for i := range r.Trials {
		for k, c := range columns {
			row[k] = csvCell(c[0], fieldOf(reflect.ValueOf(&r.Trials[i]).Elem(), c[1]))
		}
		_ = w.Write(row)
	}
	w.Flush()
	return b.Bytes()
}

// fieldOf returns the field of v at a path. A field of a nil pointer is zero.
func fieldOf(v reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			v = reflect.New(v.Type().Elem())
		}
		v = reflect.Indirect(v).FieldByName(name)
	}
	return v
}

func csvCell(name string, field reflect.Value) string {
	switch v := field.Interface().(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return harmless(v)
	case []string:
		return harmless(strings.Join(v, "; "))
	case float64:
		// a trial of one window has no coefficient of variation
		if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 && name == "cpu_cv" {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatInt(field.Int(), 10)
}

// harmless quotes a text that a spreadsheet would take as a formula.
func harmless(s string) string {
	if s != "" && strings.Contains("=+-@", s[:1]) {
		return "'" + s
	}
	return s
}
