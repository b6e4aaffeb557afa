package profile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"weir/lab/stat"
)

// Version is that of the JSON form of a Difference. It increases when a field changes its meaning.
const Version = 1

// A Difference explains why a message costs B another CPU time than A. All costs are ns of CPU per
// message.
type Difference struct {
	Version int    `json:"version"`
	Load    string `json:"load"` // in words
	A       Side   `json:"a"`
	B       Side   `json:"b"`
	Total   Row    `json:"total"` // by the lab's accounting of CPU
	// each sample is in exactly one row; those that surely differ most come first
	Rows []Row `json:"rows"`
	// what no sample saw: the total less all rows
	Unseen Row   `json:"unseen"`
	Tree   *Node `json:"tree"` // the call tree of both
	// what limits the explanation, in sentences without a full stop
	Notes []string `json:"notes,omitempty"`
}

// A Side is one of the two subjects.
type Side struct {
	Subject  string   `json:"subject"`
	Samples  int      `json:"samples"`
	Messages float64  `json:"messages"`
	PeriodNS int64    `json:"period_ns"` // of CPU that a sample stands for
	Notes    []string `json:"notes,omitempty"`
}

// A Row is a function or a system call with what it costs.
type Row struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	A    Cost   `json:"a_ns"`
	B    Cost   `json:"b_ns"`
	// B - A, with its 95 % confidence interval by the blocks of time
	Diff Cost `json:"difference_ns"`
	Low  Cost `json:"low_ns"`
	High Cost `json:"high_ns"`
	// the functions of the program that called it where it differs most, innermost first
	Callers []string `json:"callers,omitempty"`
}

// Cost is CPU time in ns per message.
type Cost float64

// Sure returns how much the row differs at least, by its interval; 0 if that contains 0.
func (r *Row) Sure() float64 { return float64(max(r.Low, -r.High, 0)) }

// Compare returns the difference of two profiles under the same load.
func Compare(load string, a, b *Profile) *Difference {
	d := &Difference{Version: Version, Load: load, A: a.side(), B: b.side()}
	left, right := a.rows(), b.rows()
	keys := slices.Collect(maps.Keys(left))
	for k := range right {
		if left[k] == nil {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		d.Rows = append(d.Rows, compareRow(k, a, b, left[k], right[k]))
	}
	av, bv := a.accountedValues(), b.accountedValues()
	d.Total = costsOf("total", av, bv)
	d.Unseen = costsOf("not seen by the timer", minus(av, a.blockValues(sumRows(left).counts)), minus(bv, b.blockValues(sumRows(right).counts)))
	slices.SortFunc(d.Rows, compareRows)
	d.Tree = mergeTrees(a, b)
	d.Notes = d.notes()
	return d
}

// compareRows orders rows by what they surely differ, and then by the estimate.
func compareRows(x, y Row) int {
	return cmp.Or(cmp.Compare(y.Sure(), x.Sure()), cmp.Compare(math.Abs(float64(y.Diff)), math.Abs(float64(x.Diff))), strings.Compare(x.Name, y.Name))
}

func (p *Profile) side() Side {
	if n := len(p.faults); n > 0 {
		p.note(fmt.Sprintf("%d of %d trials were disturbed or failed: %s", n, p.trials, p.faults[0]))
	}
	return Side{Subject: p.Subject, Samples: p.Samples, Messages: p.total(), PeriodNS: int64(p.Period), Notes: p.Notes}
}

// rowData is what a profile has of a row.
type rowData struct {
	counts  []int          // samples by block
	callers map[string]int // samples by the callers, joined by line feeds
}

// rows sums the stacks of each row.
func (p *Profile) rows() map[rowKey]*rowData {
	all := map[rowKey]*rowData{}
	for _, s := range p.stacks {
		key := rowOf(s.frames)
		r := all[key]
		if r == nil {
			r = &rowData{counts: make([]int, len(p.Messages)), callers: map[string]int{}}
			all[key] = r
		}
		for i, n := range s.counts {
			r.counts[i] += n
		}
		r.callers[strings.Join(callersOf(s.frames, key), "\n")] += s.total()
	}
	return all
}

// sumRows returns the samples of all rows by block.
func sumRows(rows map[rowKey]*rowData) *rowData {
	total := &rowData{}
	for _, r := range rows {
		for len(total.counts) < len(r.counts) {
			total.counts = append(total.counts, 0)
		}
		for i, n := range r.counts {
			total.counts[i] += n
		}
	}
	return total
}

// compareRow compares a row of the two profiles; x or y is nil where a profile lacks it.
func compareRow(key rowKey, a, b *Profile, x, y *rowData) Row {
	empty := &rowData{}
	x, y = cmp.Or(x, empty), cmp.Or(y, empty)
	r := costsOf(key.name, a.blockValues(x.counts), b.blockValues(y.counts))
	r.Kind = key.kind
	if path := mostDifferent(a, b, x.callers, y.callers); path != "" {
		r.Callers = strings.Split(path, "\n")
	}
	return r
}

// costsOf returns the row of values by block.
func costsOf(name string, a, b []float64) Row {
	diff := stat.MeanDifference(a, b)
	return Row{Name: name, A: Cost(mean(a)), B: Cost(mean(b)), Diff: Cost(diff.Value), Low: Cost(diff.Low), High: Cost(diff.High)}
}

func minus(a, b []float64) []float64 {
	rest := slices.Clone(a)
	for i := range b {
		rest[i] -= b[i]
	}
	return rest
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

// mostDifferent returns the callers whose cost differs most.
func mostDifferent(a, b *Profile, x, y map[string]int) (path string) {
	most := -1.0
	for _, callers := range []map[string]int{x, y} {
		for c := range callers {
			d := math.Abs(b.perMessage(y[c]) - a.perMessage(x[c]))
			if d > most || d == most && c < path {
				most, path = d, c
			}
		}
	}
	return path
}

const (
	// fewSamples is the number of samples below which small rows are mostly noise.
	fewSamples = 500
	// muchUnseen is the share of the CPU without samples from which on a note explains it.
	muchUnseen = 0.15
)

// notes returns what limits the comparison.
func (d *Difference) notes() (notes []string) {
	for _, s := range []Side{d.A, d.B} {
		if s.Samples < fewSamples {
			notes = append(notes, fmt.Sprintf("there are only %d samples of %s: give a longer --duration, a higher load or a higher --frequency", s.Samples, s.Subject))
		}
	}
	if d.Unseen.A > muchUnseen*d.Total.A || d.Unseen.B > muchUnseen*d.Total.B {
		notes = append(notes, "the samples miss a part of the CPU, as they do in many virtual machines: work just before and after a thread waits, with interrupts disabled. The rows are lower limits; a load that keeps the server busy shows more")
	}
	return notes
}
