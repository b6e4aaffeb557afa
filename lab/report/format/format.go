// Package format formats the numbers and words of reports.
//
// Limitations: English only.
package format

import (
	"math"
	"strconv"
	"strings"

	"weir/lab/result"
)

// Absent is shown in place of an unknown number.
const Absent = "–"

// NoInterval is shown in place of a confidence interval that does not exist.
const NoInterval = "no interval"

// Sig formats v with three significant digits (whole numbers in full) and thousands separated.
func Sig(v float64) string { return Fixed(v, Decimals(v)) }

// Decimals returns the number of decimals with which v has three significant digits, at most 5.
func Decimals(v float64) int {
	a := math.Abs(v)
	if a == 0 || math.IsNaN(a) || math.IsInf(a, 0) {
		return 0
	}
	return min(max(2-int(math.Floor(math.Log10(a))), 0), 5)
}

// Fixed formats v with a number of decimals, or from 1e9 on in scientific notation.
func Fixed(v float64, decimals int) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Absent
	case math.Abs(v) >= 1e9:
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	return Thousands(strconv.FormatFloat(v, 'f', decimals, 64))
}

// Thousands separates the thousands of a decimal number: "12,345.6".
func Thousands(s string) string {
	whole, fraction, hasPoint := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if hasPoint {
		return whole + "." + fraction
	}
	return whole
}

// Short is sig without trailing zeros after the point: "92", not "92.0".
func Short(v float64) string {
	s := Sig(v)
	if strings.Contains(s, ".") && !strings.Contains(s, "e") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Count formats a whole number with thousands separated.
func Count[T int | int64](n T) string { return Fixed(float64(n), 0) }

// Plural formats a number with its noun: "1 trial", "2 trials".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Times formats a ratio: "1.62".
func Times(v float64) string {
	if v >= 100 {
		return Sig(v)
	}
	return Fixed(v, 2)
}

// Between formats a confidence interval of a ratio: "1.50 to 1.74".
func Between(low, high float64) string {
	if math.IsNaN(low) || math.IsNaN(high) || math.IsInf(low, 0) || high > 1e15 || (low == 0 && high == 0) {
		return NoInterval
	}
	return Times(low) + " to " + Times(high)
}

// Percent formats a fraction: 0.987 is "98.7 %".
func Percent(v float64) string {
	if math.IsNaN(v) {
		return Absent
	}
	return Fixed(100*v, 1) + " %"
}

// Bytes formats a size with three digits and a suitable unit: "26.2 MiB". A size of 0 or less is
// unknown: a dash.
func Bytes(n int64) string {
	switch {
	case n <= 0:
		return Absent
	case n < 10<<10:
		return Count(n) + " B"
	case n < 10<<20:
		return Sig(float64(n)/(1<<10)) + " KiB"
	}
	return Sig(float64(n)/(1<<20)) + " MiB"
}

// List joins words for a sentence: "a", "a and b", "a, b and c".
func List(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Pattern returns the name of an arrival pattern for readers.
func Pattern(p string) string {
	switch p {
	case "poisson":
		return "Poisson"
	case result.Closed:
		return "closed loop"
	}
	return p
}

// Connections formats a number of connections: "64 connections".
func Connections(n int) string { return Plural(n, "connection", "connections") }

// Upper capitalizes the first letter of s.
func Upper(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Rate formats a rate, below 1,000 with a decimal: rates that sleeps set differ only there.
func Rate(v float64) string {
	if v < 1000 {
		return Fixed(v, 1)
	}
	return Short(v)
}

// Arrivals names an arrival pattern within a sentence: "with staggered arrivals".
func Arrivals(pattern string) string {
	switch pattern {
	case result.Closed:
		return "in a closed loop"
	case "together":
		return "with arrivals together"
	}
	return "with " + Pattern(pattern) + " arrivals"
}
