package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"weir/lab/result"
)

// absent stands where there is no number.
const absent = "–"

// sig writes v with three significant digits (more for large whole numbers) and thousands
// separated.
func sig(v float64) string { return fixed(v, decimals(v)) }

// decimals is how many digits after the point show v with three significant ones, at most 5.
func decimals(v float64) int {
	a := math.Abs(v)
	if a == 0 || math.IsNaN(a) || math.IsInf(a, 0) {
		return 0
	}
	return min(max(2-int(math.Floor(math.Log10(a))), 0), 5)
}

// fixed writes v with a number of decimals; absurd magnitudes as powers of ten.
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

// short is sig without decimals that say nothing: "92", not "92.0".
func short(v float64) string {
	s := sig(v)
	if strings.Contains(s, ".") && !strings.Contains(s, "e") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// count writes a whole number.
func count[T int | int64](n T) string { return fixed(float64(n), 0) }

// plural is "1 trial", "2 trials".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// String is the mean with its interval: "8.31 (8.10 to 8.52)".
func (e estimate) String() string {
	if !e.known() {
		return absent
	}
	if !e.ranged() {
		return sig(e.mean)
	}
	return sig(e.mean) + " (" + e.interval() + ")"
}

// interval is "8.10 to 8.52", in the precision of the mean.
func (e estimate) interval() string {
	if !e.ranged() {
		return absent
	}
	n := decimals(e.mean)
	return fixed(e.low, n) + " to " + fixed(e.high, n)
}

// times is a ratio: "1.62".
func times(v float64) string {
	if v >= 100 {
		return sig(v)
	}
	return fixed(v, 2)
}

func between(low, high float64) string {
	if math.IsNaN(low) || math.IsNaN(high) || math.IsInf(low, 0) || high > 1e15 || (low == 0 && high == 0) {
		return "no interval"
	}
	return times(low) + " to " + times(high)
}

// percent of a fraction: 0.987 is "98.7 %".
func percent(v float64) string {
	if math.IsNaN(v) {
		return absent
	}
	return fixed(100*v, 1) + " %"
}

// Bytes is a size for people in the unit that suits it, in three digits: "26.2 MiB"; a dash where
// there is none.
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

// list joins words: "a", "a and b", "a, b and c".
func list(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// patternName is a pattern as it stands in a sentence.
func patternName(p string) string {
	if p == "poisson" {
		return "Poisson"
	}
	if p == result.Closed {
		return "closed loop"
	}
	return p
}

// conns is "1 connection", "64 connections".
func conns(n int) string { return plural(n, "connection", "connections") }

// upper makes the first letter of a sentence large.
func upper(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// describe is a load in words: "125 messages/s of 1,000 bytes".
func (d *digest) describe(load string) string {
	for _, l := range d.Plan.Loads {
		if l.Name != load {
			continue
		}
		switch {
		case d.Plan.HTTP():
			return describeRequests(l)
		case d.Plan.Chat():
			return describeRooms(l)
		case d.Plan.Stack():
			return describeOperation(l)
		}
		s := fmt.Sprintf("%s messages/s of %s bytes per connection", short(l.Rate), count(l.Size))
		if l.Bits > 0 {
			s = fmt.Sprintf("%s Mbit/s per connection cut into small writes, as tcpkali does", short(l.Bits/1e6))
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
			s += fmt.Sprintf(", %d µs of work per message", l.WorkUS)
		}
		if l.WaitMS > 0 {
			s += fmt.Sprintf(", %d ms of waiting per message", l.WaitMS)
		}
		return s
	}
	return "load " + load
}
