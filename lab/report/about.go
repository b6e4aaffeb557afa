package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// subjectsSection describes the subjects.
func (d *digest) subjectsSection() section {
	s := section{ID: "subjects", Title: "The subjects",
		How: "The servers that were compared, and where their work is not equal. Lines are lines of code; dependencies are third-party libraries, without the language's own."}
	if len(d.Subjects) == 0 {
		return s
	}
	t := &table{Caption: "Subjects", Align: "llllrrrl", Head: []string{"Subject", "Language", "Version", "Concurrency model", "Lines", "Dependencies", "Binary", "Differences"}}
	var about []string
	for _, x := range d.Subjects {
		differs := orElse(x.Differs, "none known")
		if x.Elsewhere {
			differs = "not started by the lab, CPU not measured; " + differs
		}
		t.add(x.Name, x.Language, orElse(x.Version, absent), x.Paradigm, count(x.Lines), count(x.Dependencies), Bytes(x.BinaryBytes), differs)
		if x.About != "" {
			about = append(about, x.Name+": "+x.About)
		}
	}
	s.Blocks = []block{{Table: t.trim()}}
	if len(about) > 0 {
		s.Blocks = append(s.Blocks, block{Fold: d.kind.aboutTitle(), Inside: []block{{Items: about}}})
	}
	return s
}

// coldSection compares the CPU during the warm-up with that of the measured window.
func (d *digest) coldSection() section {
	s := section{ID: "cold", Title: "CPU during the warm-up",
		How: "CPU per " + d.unit() + " during the warm-up, before the measured window, and in it. Runtimes with a just-in-time compiler use more CPU at first; the figures of this report exclude the warm-up."}
	for _, g := range d.busiest() {
		t := &table{Caption: upper(d.caption(g)), Align: "lrrrr", Head: []string{"Subject", "Cold, µs per " + d.unit(), "Warm, µs per " + d.unit(), "Cold / warm", upper(d.units()) + " before warm"}}
		for _, c := range g.cells {
			if !c.cold.known() {
				continue
			}
			var warm []float64
			for _, x := range c.trials {
				warm = append(warm, float64(x.WarmMessages))
			}
			t.add(c.subject, c.cold.String(), sig(c.perMessage.mean), times(c.cold.mean/c.perMessage.mean), sig(medianOf(warm)))
		}
		if len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, block{Table: t})
		}
	}
	return s
}

// machineSection describes the machine and the settings of the run.
func (d *digest) machineSection() section {
	return section{ID: "machine", Title: "The machine and the run", How: "Absolute figures are valid for this machine and this run only. Ratios depend less on the machine.",
		Blocks: []block{{Table: d.machineTable()}, {Table: d.planTable()}}}
}

// fact adds a row, unless its value is unknown.
func (t *table) fact(name, value string) {
	if value != "" && value != absent {
		t.add(name, value)
	}
}

func (d *digest) machineTable() *table {
	m := d.Machine
	t := &table{Caption: "Machine", Align: "ll", Head: []string{"Property", "Value"}}
	t.fact("Processor", strings.TrimSpace(m.CPU+", "+plural(m.Cores, "core", "cores")))
	t.fact("Memory", Bytes(int64(m.MemoryMB)<<20))
	t.fact("Kernel", m.Kernel)
	t.fact("Virtual machine", map[bool]string{true: "yes", false: "no"}[m.Hypervisor])
	t.fact("TCP congestion control", m.Congestion)
	t.fact("Weir", m.Weir)
	t.fact("Versions", strings.Join(d.versions(), ", "))
	t.fact("CPU accounting", d.methods()[0].Name)
	return t
}

// versions returns the versions of the machine's toolchains and of the subjects' runtimes.
func (d *digest) versions() []string {
	v := slices.Clone(d.Machine.Versions)
	for _, s := range d.Subjects {
		if s.Version != "" && !slices.Contains(v, s.Version) {
			v = append(v, s.Version)
		}
	}
	return v
}

func (d *digest) planTable() *table {
	p := d.Plan
	t := &table{Caption: "Run", Align: "ll", Head: []string{"Setting", "Value"}}
	t.fact("Started", stamp(d.Started))
	t.fact("Finished", stamp(d.Finished))
	t.fact("Workload", p.Workload)
	for _, l := range p.Loads {
		t.fact("Load "+l.Name, d.describe(l.Name))
	}
	t.fact("Arrivals", strings.Join(p.Patterns, ", "))
	t.fact("Connections", joinInts(p.Connections))
	if len(d.Probes) > 0 {
		t.fact("Capacities", fmt.Sprintf("searched upwards from the load's rate: %s and %s of %s s", plural(len(d.Probes), "probe", "probes"), plural(len(d.Saturation), "measurement", "measurements"), short(p.DurationS)))
	}
	if len(d.Trials) > 0 || len(d.Probes) == 0 {
		t.fact("Trials", fmt.Sprintf("%s of %s s in %s, %d accepted", plural(len(d.Trials), "trial", "trials"), short(p.DurationS), d.blocksRun(), d.accepted()))
	}
	t.fact("Subjects run on cores", joinInts(p.ServerCPUs))
	t.fact("Generator runs on cores", joinInts(p.LoadCPUs))
	t.fact("Network", map[bool]string{true: "a veth pair into a namespace", false: "loopback"}[p.Namespace])
	t.fact("Seed", fmt.Sprint(d.Seed))
	return t
}

// blocksRun is the number of blocks per cell that were run. A time limit or an interruption can
// make it less than the plan's.
func (d *digest) blocksRun() string {
	least, most := math.MaxInt, 0
	for _, g := range d.groups {
		seen := map[int]bool{}
		for _, c := range g.allCells() {
			for _, t := range slices.Concat(c.trials, c.rejected, c.failed) {
				seen[t.Block] = true
			}
		}
		least, most = min(least, len(seen)), max(most, len(seen))
	}
	switch {
	case most == 0:
		return "no block"
	case least < most:
		return fmt.Sprintf("%d to %d blocks per cell", least, most)
	}
	return plural(most, "block", "blocks") + " per cell"
}

// stamp formats a time of day; the zero time is "not yet".
func stamp(t time.Time) string {
	if t.IsZero() {
		return "not yet"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func joinInts(v []int) string {
	s := make([]string, len(v))
	for i, n := range v {
		s[i] = fmt.Sprint(n)
	}
	return strings.Join(s, ", ")
}

// limitationsSection lists the limits of the figures.
func (d *digest) limitationsSection() section {
	return section{ID: "limitations", Title: "Limitations", How: "What these figures do not show.", Blocks: []block{{Items: []string{
		"On loopback the kernel does part of the receiver's work in the sender's context. That part counts as CPU of the generator, not of the subject. The report therefore shows the CPU per " + d.unit() + " of the generator and of the whole machine too.",
		"Generator and subject share one machine, its caches and its memory bandwidth, even on separate cores.",
		d.kind.workLimitation(),
		"Confidence intervals describe the noise of this run. They do not cover another kernel, another machine or another version of a runtime.",
		"The coefficient of variation depends on its window and on the load. It says nothing about latency.",
	}}}}
}

// commandSection holds the command that repeats the run.
func (d *digest) commandSection() section {
	s := section{ID: "repeat", Title: "How to repeat this run", How: "The exact command with its seed. The trials run in the same order; the figures differ by noise."}
	if d.Command == "" {
		s.Blocks = []block{text("The command was not recorded.")}
		return s
	}
	s.Blocks = []block{{Code: d.Command}}
	return s
}
