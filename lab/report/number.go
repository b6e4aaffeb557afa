package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"weir/lab/result"
)

// absent is shown in place of an unknown number.
const absent = "–"

// noInterval is shown in place of a confidence interval that does not exist.
const noInterval = "no interval"

// sig formats v with three significant digits (whole numbers in full) and thousands separated.
func sig(v float64) string { return fixed(v, decimals(v)) }

// decimals returns the number of decimals with which v has three significant digits, at most 5.
func decimals(v float64) int {
	a := math.Abs(v)
	if a == 0 || math.IsNaN(a) || math.IsInf(a, 0) {
		return 0
	}
	return min(max(2-int(math.Floor(math.Log10(a))), 0), 5)
}

// fixed formats v with a number of decimals, or from 1e9 on in scientific notation.
func fixed(v float64, decimals int) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return absent
	case math.Abs(v) >= 1e9:
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	whole, rest, point := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		return whole + "." + rest
	}
	return whole
}

// short is sig without trailing zeros after the point: "92", not "92.0".
func short(v float64) string {
	s := sig(v)
	if strings.Contains(s, ".") && !strings.Contains(s, "e") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// count formats a whole number with thousands separated.
func count[T int | int64](n T) string { return fixed(float64(n), 0) }

// plural formats a number with its noun: "1 trial", "2 trials".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// String formats the mean with its interval: "8.31 (8.10 to 8.52)".
func (e estimate) String() string {
	if !e.known() {
		return absent
	}
	if !e.hasInterval() {
		return sig(e.mean)
	}
	return sig(e.mean) + " (" + e.interval() + ")"
}

// interval formats the interval with the decimals of the mean: "8.10 to 8.52".
func (e estimate) interval() string {
	if !e.hasInterval() {
		return absent
	}
	n := decimals(e.mean)
	return fixed(e.low, n) + " to " + fixed(e.high, n)
}

// times formats a ratio: "1.62".
func times(v float64) string {
	if v >= 100 {
		return sig(v)
	}
	return fixed(v, 2)
}

// between formats a confidence interval of a ratio: "1.50 to 1.74".
func between(low, high float64) string {
	if math.IsNaN(low) || math.IsNaN(high) || math.IsInf(low, 0) || high > 1e15 || (low == 0 && high == 0) {
		return noInterval
	}
	return times(low) + " to " + times(high)
}

// percent formats a fraction: 0.987 is "98.7 %".
func percent(v float64) string {
	if math.IsNaN(v) {
		return absent
	}
	return fixed(100*v, 1) + " %"
}

// Bytes formats a size with three digits and a suitable unit: "26.2 MiB". A size of 0 or less is
// unknown: a dash.
func Bytes(n int64) string {
	switch {
	case n <= 0:
		return absent
	case n < 10<<10:
		return count(n) + " B"
	case n < 10<<20:
		return sig(float64(n)/(1<<10)) + " KiB"
	}
	return sig(float64(n)/(1<<20)) + " MiB"
}

// list joins words for a sentence: "a", "a and b", "a, b and c".
func list(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// patternName returns the name of an arrival pattern for readers.
func patternName(p string) string {
	if p == "poisson" {
		return "Poisson"
	}
	if p == result.Closed {
		return "closed loop"
	}
	return p
}

// conns formats a number of connections: "64 connections".
func conns(n int) string { return plural(n, "connection", "connections") }

// upper capitalizes the first letter of s.
func upper(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// describe describes a load by name: see kind.
func (d *digest) describe(load string) string {
	for _, l := range d.Plan.Loads {
		if l.Name == load {
			return d.kind.describe(l)
		}
	}
	return "load " + load
}

func describeMessages(l result.Load) string {
	s := fmt.Sprintf("%s messages/s of %s bytes per connection", short(l.Rate), count(l.Size))
	if l.Bits > 0 {
		s = fmt.Sprintf("%s Mbit/s per connection in small writes, as tcpkali sends them", short(l.Bits/1e6))
	}
	switch brief := fmt.Sprintf("%s short connections/s of one message of %s bytes", short(l.Churn), count(l.Size)); {
	case l.Churn > 0 && l.Rate == 0:
		s = brief
	case l.Churn > 0:
		s += ", " + brief
	}
	if l.Idle > 0 {
		s += fmt.Sprintf(", %s idle", conns(l.Idle))
	}
	if l.WorkUS > 0 {
		s += fmt.Sprintf(", %s µs of work per message", count(l.WorkUS))
	}
	if l.WaitMS > 0 {
		s += fmt.Sprintf(", %s ms of waiting per message", count(l.WaitMS))
	}
	return s
}
