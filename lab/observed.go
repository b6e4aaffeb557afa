package lab

import (
	"math"
	"time"

	"weir/lab/result"
	"weir/lab/sample"
	"weir/lab/stat"
)

// fill copies what was observed into a trial whose messages are already set.
func (o observation) fill(t *result.Trial, window time.Duration) {
	perMessage := func(d time.Duration) float64 {
		if t.Messages == 0 {
			return 0
		}
		return us(d) / float64(t.Messages)
	}
	t.MachineUSPerMsg = perMessage(o.after.machine.CPU - o.before.machine.CPU)
	if len(o.points) == 0 {
		return // a subject that runs elsewhere
	}
	first, last := o.points[0], o.points[len(o.points)-1]
	used := last.CPU - first.CPU
	t.CPUPercentMean = 100 * float64(used) / float64(last.At-first.At)
	t.CPUUSPerMessage = perMessage(used)
	if cv := stat.Variation(readings(o.points), window.Seconds()); !math.IsNaN(cv) {
		t.CPUCV = cv
	}
	for _, p := range o.points {
		t.Samples = append(t.Samples, result.Sample{AtMS: us(p.At-first.At) / 1000, CPUNS: int64(p.CPU - first.CPU)})
	}
	t.Memory = result.Memory{
		PeakRSSKB: o.census.PeakRSS >> 10, PSSKB: o.census.PSS >> 10,
		Processes: o.census.Processes, Threads: o.census.Threads,
	}
	t.Switches, t.RunQueueRatio = o.switches, o.runQueueRatio
	o.fillAccounting(t)
}

// fillAccounting records the result of each of the other CPU accounting methods.
func (o observation) fillAccounting(t *result.Trial) {
	if len(o.accounting) == 0 {
		return
	}
	t.CPUByMethod = map[string]float64{}
	for _, r := range o.accounting {
		if len(r.Percents) > 0 {
			t.CPUByMethod[r.Name] = r.Mean()
		}
	}
}

// readings converts samples to the form that package stat takes, in seconds.
func readings(points []sample.Point) []stat.Reading {
	r := make([]stat.Reading, len(points))
	for i, p := range points {
		r[i] = stat.Reading{At: p.At.Seconds(), Counter: p.CPU.Seconds()}
	}
	return r
}
