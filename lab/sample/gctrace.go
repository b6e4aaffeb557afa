package sample

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/lab/result"
)

// GCCycle is one line of the garbage collector's trace of a Go program (GODEBUG=gctrace=1; the
// format is documented in package runtime). The runtime prints milliseconds with up to three
// significant digits.
type GCCycle struct {
	Number int
	At     time.Duration // since the start of the program; printed in milliseconds
	Clock  [3]float64    // ms: sweep termination (stopped), mark, mark termination (stopped)
	// ms: sweep termination, mark by assists, mark in the background, mark while idle, mark
	// termination
	CPU [5]float64
}

// ParseGC parses the collector's lines in a program's standard error. It skips other lines, and
// lines in which the output of several processes is mixed.
func ParseGC(stderr string) (cycles []GCCycle) {
	for line := range strings.Lines(stderr) {
		if c, ok := parseGCLine(strings.TrimSuffix(line, "\n")); ok {
			cycles = append(cycles, c)
		}
	}
	return cycles
}

// parseGCLine parses: gc # @#s #%: #+#+# ms clock, #+#/#/#+# ms cpu, #->#-># MB, ...
func parseGCLine(line string) (c GCCycle, ok bool) {
	head, rest, ok1 := strings.Cut(line, ": ")
	clock, rest, ok2 := strings.Cut(rest, " ms clock, ")
	cpu, _, ok3 := strings.Cut(rest, " ms cpu, ")
	f := strings.Fields(head)
	if !ok1 || !ok2 || !ok3 || len(f) != 4 || f[0] != "gc" || !strings.HasPrefix(f[2], "@") {
		return c, false
	}
	n, err := strconv.ParseUint(f[1], 10, 31)
	at, seconds := strings.CutSuffix(f[2][1:], "s")
	since, ok := duration(at)
	c.Number, c.At = int(n), since
	ok = ok && seconds && err == nil && milliseconds(clock, "++", c.Clock[:]) && milliseconds(cpu, "+//+", c.CPU[:])
	return c, ok
}

func duration(seconds string) (time.Duration, bool) {
	s, err := strconv.ParseFloat(seconds, 64)
	if err != nil || !(s >= 0 && s < 1e9) {
		return 0, false
	}
	return time.Duration(s*1000+0.5) * time.Millisecond, true
}

// milliseconds splits text at each of the separators in turn and parses the parts. It reports
// whether all are valid.
func milliseconds(text, separators string, into []float64) bool {
	for i := range into {
		part := text
		if i < len(separators) {
			var found bool
			if part, text, found = strings.Cut(text, separators[i:i+1]); !found {
				return false
			}
		}
		ms, err := strconv.ParseFloat(part, 64)
		if err != nil || !(ms >= 0 && ms < 1e12) || strings.Trim(part, "0123456789.") != "" {
			return false
		}
		into[i] = ms
	}
	return true
}

// String formats the parsed fields as the runtime does.
func (c GCCycle) String() string {
	ms := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return fmt.Sprintf("gc %d @%ss 0%%: %s+%s+%s ms clock, %s+%s/%s/%s+%s ms cpu, 0->0->0 MB", c.Number,
		strconv.FormatFloat(c.At.Seconds(), 'f', 3, 64), ms(c.Clock[0]), ms(c.Clock[1]), ms(c.Clock[2]),
		ms(c.CPU[0]), ms(c.CPU[1]), ms(c.CPU[2]), ms(c.CPU[3]), ms(c.CPU[4]))
}

// SummariseGC summarises the collector's work between two moments, given as times since the start
// of the program. cpu is the program's total CPU in between. The pause is the longest time in which
// all goroutines were stopped.
func SummariseGC(cycles []GCCycle, from, to, cpu time.Duration) result.GC {
	var gc result.GC
	var used float64 // ms
	for _, c := range cycles {
		if c.At < from || c.At >= to {
			continue
		}
		gc.Cycles++
		for _, ms := range c.CPU {
			used += ms
		}
		gc.MaxPauseUS = max(gc.MaxPauseUS, 1000*c.Clock[0], 1000*c.Clock[2])
	}
	if cpu > 0 {
		gc.SharePercent = 100 * used / (float64(cpu) / float64(time.Millisecond))
	}
	return gc
}
