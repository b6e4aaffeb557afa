package profile

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"weir/internal/printable"
)

// Question is the heading of the table: "Where the 3.1 us more of B go", if the total surely
// differs.
func (d *Difference) Question() string {
	more := "more"
	switch {
	case d.Total.Sure() == 0:
		return fmt.Sprintf("How %s and %s differ", d.A.Subject, d.B.Subject)
	case d.Total.Diff < 0:
		more = "less"
	}
	return fmt.Sprintf("Where the %s %s of %s go", Cost(math.Abs(float64(d.Total.Diff))), more, d.B.Subject)
}

// Answer is a sentence with the totals of both.
func (d *Difference) Answer() string {
	t := d.Total
	return fmt.Sprintf("A message costs %s %s and %s %s of CPU: %s (%s to %s, 95 %% confidence) from %s to %s.",
		d.A.Subject, t.A, d.B.Subject, t.B, t.Diff.Signed(), t.Low.Signed(), t.High.Signed(), d.A.Subject, d.B.Subject)
}

// String is the cost with its unit: "310 ns", "3.1 us".
func (c Cost) String() string {
	switch v := math.Abs(float64(c)); {
	case v >= 9995:
		return fmt.Sprintf("%.0f us", float64(c)/1000)
	case v >= 999.5:
		return fmt.Sprintf("%.1f us", float64(c)/1000)
	case math.Round(float64(c)) == 0:
		return "0 ns"
	default:
		return fmt.Sprintf("%.0f ns", float64(c))
	}
}

// Signed is the cost with its sign: "+310 ns".
func (c Cost) Signed() string {
	if s := c.String(); c < 0 || s == "0 ns" {
		return s
	} else {
		return "+" + s
	}
}

// AllNotes returns the notes on both and on each subject, in sentences with a full stop.
func (d *Difference) AllNotes() (all []string) {
	for _, n := range d.Notes {
		all = append(all, sentence(n))
	}
	for _, s := range []Side{d.A, d.B} {
		for _, n := range s.Notes {
			all = append(all, s.Subject+": "+n+".")
		}
	}
	return all
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// WriteText writes the answer and the first rows of the table for a terminal of so many columns.
func (d *Difference) WriteText(w io.Writer, rows, width int) error {
	fmt.Fprintf(w, "%s\n\n%s:\n\n", printable.Text(d.Answer()), printable.Text(d.Question()))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\t%s\tdifference\t± (95 %%)\t  \n", short(d.A.Subject, 16), short(d.B.Subject, 16))
	for _, r := range d.Rows[:min(rows, len(d.Rows))] {
		writeRow(t, r, width)
	}
	if rest := d.rest(rows); len(d.Rows) > rows {
		writeRow(t, rest, width)
	}
	writeRow(t, d.Unseen, width)
	writeRow(t, d.Total, width)
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range d.AllNotes() {
		if _, err := fmt.Fprintf(w, "\nNote: %s\n", printable.Text(n)); err != nil {
			return err
		}
	}
	return nil
}

// rest returns the sum of the rows from an index on. The interval is left out: see writeRow.
func (d *Difference) rest(from int) Row {
	r := Row{Name: fmt.Sprintf("%d other rows", max(0, len(d.Rows)-from)), Low: Cost(math.Inf(-1)), High: Cost(math.Inf(1))}
	for i := from; i < len(d.Rows); i++ {
		r.A, r.B, r.Diff = r.A+d.Rows[i].A, r.B+d.Rows[i].B, r.Diff+d.Rows[i].Diff
	}
	return r
}

// columnsOfNumbers is about the width of the columns before the name.
const columnsOfNumbers = 48

func writeRow(w io.Writer, r Row, width int) {
	name := localName(r.Name)
	if r.Kind == KindFunction || r.Kind == KindSystemCall {
		for _, c := range r.Callers {
			name += " < " + localName(c)
		}
	}
	half := ((r.High - r.Low) / 2).String()
	if math.IsInf(float64(r.High), 0) {
		half = ""
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t  %s\n", r.A, r.B, r.Diff.Signed(), half, short(name, max(20, width-columnsOfNumbers)))
}

// localName returns the name of a Go function without the folders of its package's path.
func localName(name string) string {
	path, _, _ := strings.Cut(name, "(")
	if strings.ContainsAny(path, " <[:") {
		return name
	}
	return name[strings.LastIndexByte(path, '/')+1:]
}

// short returns the first n characters of a name.
func short(s string, n int) string {
	r := []rune(printable.Text(s))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}
