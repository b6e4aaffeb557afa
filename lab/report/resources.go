package report

import (
	"slices"

	"weir/lab/result"
)

// memorySection shows memory, processes, threads and context switches.
func (d *digest) memorySection() section {
	s := section{ID: "memory", Title: "Memory, processes and threads",
		How: "Medians over the accepted trials, for the whole process tree. PSS divides a shared page among the processes that map it, and is the figure to compare; peak RSS counts it once for each. GC is the Go garbage collector's share of the subject's CPU, and its longest pause."}
	s.Blocks = d.perGroupTable(d.memoryTable)
	return s
}

func (d *digest) memoryTable(g *group) *table {
	t := &table{Caption: upper(d.caption(g)), Align: "lrrrrrrr",
		Head: []string{"Subject", "PSS", "Peak RSS", "Processes", "Threads", "Switches per " + d.unit(), "of them involuntary", "GC"}}
	for _, c := range g.cells {
		if len(c.trials) == 0 {
			continue
		}
		of := func(f func(*result.Trial) float64) float64 { return median(c.trials, f) }
		perMessage := func(t *result.Trial, n int64) float64 { return float64(n) / float64(max(t.Messages, 1)) }
		t.add(c.subject,
			Bytes(int64(of(func(t *result.Trial) float64 { return float64(t.Memory.PSSKB) }))<<10),
			Bytes(int64(of(func(t *result.Trial) float64 { return float64(t.Memory.PeakRSSKB) }))<<10),
			short(of(func(t *result.Trial) float64 { return float64(t.Memory.Processes) })),
			short(of(func(t *result.Trial) float64 { return float64(t.Memory.Threads) })),
			fixed(of(func(t *result.Trial) float64 { return perMessage(t, t.Switches.Voluntary+t.Switches.Involuntary) }), 2),
			fixed(of(func(t *result.Trial) float64 { return perMessage(t, t.Switches.Involuntary) }), 2),
			collector(c.trials))
	}
	return t
}

// collector formats the Go garbage collector's share of the CPU and its longest pause: "1.2 %, 80
// µs".
func collector(trials []*result.Trial) string {
	var share, pause []float64
	for _, t := range trials {
		if t.GC != nil {
			share, pause = append(share, t.GC.SharePercent), append(pause, t.GC.MaxPauseUS)
		}
	}
	if len(share) == 0 {
		return absent
	}
	return short(medianOf(share)) + " %, " + short(slices.Max(pause)) + " µs"
}

func median(trials []*result.Trial, of func(*result.Trial) float64) float64 {
	var v []float64
	for _, t := range trials {
		v = append(v, of(t))
	}
	return medianOf(v)
}

// medianOf returns the median of v, which must not be empty.
func medianOf(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
