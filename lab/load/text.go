package load

import (
	"fmt"
	"io"
	"strings"
	"time"

	"weir/lab/internal/tally"
	"weir/lab/result"
)

// Text is the text of a report: a title, then rows of a name and a value.
type Text struct{ strings.Builder }

// NewText returns a text with its title.
func (r *Report) NewText(format string, args ...any) *Text {
	t := &Text{}
	fmt.Fprintf(t, format, args...)
	if r.Interrupt {
		t.WriteString(" (interrupted)")
	}
	t.WriteString("\n")
	return t
}

// Row writes a row. The name of a row that continues the last one is empty.
func (t *Text) Row(name, format string, args ...any) {
	fmt.Fprintf(t, "  %-12s "+format+"\n", append([]any{name}, args...)...)
}

// Offers writes the rows of a load with a schedule. The unit is a plural.
func (t *Text) Offers(r *Report, unit string) {
	t.Row("offered", "%.1f %s/s for %.3g s: %d, %.2f %% of it achieved", r.OfferedRate, unit, r.Seconds(), r.Offered, 100*r.AchievedRatio)
	t.Row("lateness", "%s", PercentilesText(r.LatenessUS))
	t.Row("behind", "%d found their connection full or busy", r.Behind)
}

// Times writes a row with a distribution, unless it is empty.
func (t *Text) Times(name string, d tally.Times) {
	if d.Max > 0 {
		t.Row(name, "mean %s, min %s, median %s, p99 %s, p99.9 %s, max %s", usText(d.Mean), usText(d.Min), usText(d.Median), usText(d.P99), usText(d.P999), usText(d.Max))
	}
}

// End writes the rows about the generator itself and about errors, and then the text to w. The unit
// is a singular; empty: the CPU for each message is left out.
func (t *Text) End(w io.Writer, r *Report, unit string) error {
	cost := ""
	if unit != "" && r.Messages > 0 {
		cost = fmt.Sprintf("; %.2f us for each %s", float64(r.CPUNS)/1e3/float64(r.Messages), unit)
	}
	t.Row("own CPU", "%.3f of a core, waited %.3f for one%s", Ratio(r.CPUNS, r.WindowNS), Ratio(r.RunQueueNS, r.WindowNS), cost)
	if len(r.Errors) == 0 {
		t.Row("errors", "none")
	} else {
		t.Row("errors", "%s", r.Trouble())
	}
	for _, d := range r.Details {
		t.Row("", "%s", d)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// Seconds returns the length of the window.
func (r *Report) Seconds() float64 { return time.Duration(r.WindowNS).Seconds() }

// PercentilesText formats percentiles in one line.
func PercentilesText(p result.Percentiles) string {
	return fmt.Sprintf("p1 %s, p50 %s, p99 %s, p99.9 %s, max %s", usText(p.P01), usText(p.P50), usText(p.P99), usText(p.P999), usText(p.Max))
}

// usText formats microseconds with three or more digits in a suitable unit.
func usText(us float64) string {
	switch {
	case us >= 1e6:
		return fmt.Sprintf("%.2f s", us/1e6)
	case us >= 1e3:
		return fmt.Sprintf("%.3f ms", us/1e3)
	case us >= 100:
		return fmt.Sprintf("%.0f us", us)
	}
	return fmt.Sprintf("%.1f us", us)
}

// BytesText formats a number of bytes in a suitable unit.
func BytesText(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}
