package report

import (
	"slices"

	"weir/lab/report/format"
	"weir/lab/result"
)

// MemorySection shows memory, processes, threads and context switches.
func (d *Digest) MemorySection() Section {
	return Section{ID: "memory", Title: "Memory, processes and threads",
		How:    "Medians over the accepted trials, for the whole process tree. PSS divides a shared page among the processes that map it, and is the figure to compare; peak RSS counts it once for each. GC is the Go garbage collector's share of the subject's CPU, and its longest pause.",
		Blocks: d.PerGroupTable(d.memoryTable)}
}

func (d *Digest) memoryTable(g *Group) *Table {
	t := &Table{Caption: format.Upper(d.Caption(g)), Align: "lrrrrrrr",
		Head: []string{"Subject", "PSS", "Peak RSS", "Processes", "Threads", "Switches per " + d.Unit(), "of them involuntary", "GC"}}
	for _, c := range g.Measured() {
		of := func(f func(*result.Trial) float64) float64 { return Median(c.Trials, f) }
		perMessage := func(t *result.Trial, n int64) float64 { return float64(n) / float64(max(t.Messages, 1)) }
		t.Add(c.Subject,
			format.Bytes(int64(of(func(t *result.Trial) float64 { return float64(t.Memory.PSSKB) }))<<10),
			format.Bytes(int64(of(func(t *result.Trial) float64 { return float64(t.Memory.PeakRSSKB) }))<<10),
			format.Short(of(func(t *result.Trial) float64 { return float64(t.Memory.Processes) })),
			format.Short(of(func(t *result.Trial) float64 { return float64(t.Memory.Threads) })),
			format.Fixed(of(func(t *result.Trial) float64 { return perMessage(t, t.Switches.Voluntary+t.Switches.Involuntary) }), 2),
			format.Fixed(of(func(t *result.Trial) float64 { return perMessage(t, t.Switches.Involuntary) }), 2),
			collector(c.Trials))
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
		return format.Absent
	}
	return format.Short(MedianOf(share)) + " %, " + format.Short(slices.Max(pause)) + " µs"
}
