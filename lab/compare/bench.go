package compare

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode"

	"weir/lab/result"
)

// variationUnit is the unit of the coefficient of variation of CPU.
const variationUnit = "cpu-cv"

// figures returns the figures of trials in the benchmark format, the main one first.
func (k Kind) figures() []Figure {
	return append([]Figure{
		{"us/" + k.Short, "lower", func(t *result.Trial) float64 { return t.CPUUSPerMessage }},
		{variationUnit, "lower", func(t *result.Trial) float64 { return t.CPUCV }},
		{"cpu-percent", "lower", func(t *result.Trial) float64 { return t.CPUPercentMean }},
		{"load-us/" + k.Short, "lower", func(t *result.Trial) float64 { return t.LoadUSPerMsg }},
		{"machine-us/" + k.Short, "lower", func(t *result.Trial) float64 { return t.MachineUSPerMsg }},
		{"lateness-p99-us", "lower", func(t *result.Trial) float64 { return t.LatenessUS.P99 }},
	}, k.Figures...)
}

// WriteBench writes the accepted trials in the Go benchmark format
// (https://go.dev/design/14313-benchmark-format), one line per trial in the order in which they
// ran:
//
//	BenchmarkIM/subject=c-epoll/load=messages/conns=64/pattern=staggered 1 8.31 us/msg …
//
// With it benchstat compares subjects (-col /subject) or runs (two files). benchstat does not know
// blocks: it assumes independent trials, so drift of the machine widens its intervals. benchstat
// does not compare across configurations. Configuration lines therefore hold only the workload and
// the machine; the rest is in comments. Errors are those of w.
func (k Kind) WriteBench(w io.Writer, r *result.Results) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n# seed %d, started %s\n", oneLine(r.Command), r.Seed, r.Started.UTC().Format(time.RFC3339))
	for _, c := range []struct{ key, value string }{
		{"workload", r.Plan.Workload}, {"kernel", r.Machine.Kernel}, {"cpu", r.Machine.CPU},
	} {
		if v := oneLine(c.value); v != "" {
			fmt.Fprintf(b, "%s: %s\n", c.key, v)
		}
	}
	units := k.figures()
	for _, u := range units {
		fmt.Fprintf(b, "Unit %s better=%s\n", u.Unit, u.Better)
	}
	name := benchName(r.Experiment)
	for i := range r.Trials {
		if t := &r.Trials[i]; t.Accepted {
			writeTrial(b, name, t, units)
		}
	}
	return b.Flush()
}

func writeTrial(b *bufio.Writer, name string, t *result.Trial, units []Figure) {
	fmt.Fprintf(b, "Benchmark%s/subject=%s/load=%s/conns=%d/pattern=%s 1", name, benchValue(t.Subject), benchValue(t.Load), t.Connections, benchValue(t.Pattern))
	for _, u := range units {
		if v := u.Of(t); v != 0 || u.Unit != variationUnit { // not known for a trial of one window
			fmt.Fprintf(b, " %.6g %s", v, u.Unit)
		}
	}
	b.WriteByte('\n')
}

// benchName converts an experiment's name to a benchmark's: "im-published" to IMPublished. Words of
// one or two letters become capitals, others begin with one. Of a path it uses the last element.
func benchName(experiment string) string {
	base := strings.TrimSuffix(path.Base(experiment), ".toml")
	var name strings.Builder
	for _, word := range strings.FieldsFunc(base, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) <= 2 {
			name.WriteString(strings.ToUpper(word))
			continue
		}
		letters := []rune(word)
		letters[0] = unicode.ToUpper(letters[0])
		name.WriteString(string(letters))
	}
	if name.Len() == 0 {
		return "Lab"
	}
	return name.String()
}

// benchValue replaces the characters of s that a benchmark's name may not contain.
func benchValue(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
