package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"weir/lab/report/format"
	"weir/lab/result"
)

// SubjectsSection describes the subjects, their descriptions under the given title.
func (d *Digest) SubjectsSection(title string) Section {
	s := Section{ID: "subjects", Title: "The subjects",
		How: "The servers that were compared, and where their work is not equal. Lines are lines of code; dependencies are third-party libraries, without the language's own."}
	t := &Table{Caption: "Subjects", Align: "llllrrrl", Head: []string{"Subject", "Language", "Version", "Concurrency model", "Lines", "Dependencies", "Binary", "Differences"}}
	var about []string
	for _, x := range d.Subjects {
		differs := cmp.Or(x.Differs, "none known")
		if x.Elsewhere {
			differs = "not started by the lab, CPU not measured; " + differs
		}
		if x.Beside {
			differs = "not started by the lab, CPU measured by an agent beside it; " + differs
		}
		t.Add(x.Name, x.Language, cmp.Or(x.Version, format.Absent), x.Paradigm, format.Count(x.Lines), format.Count(x.Dependencies), format.Bytes(x.BinaryBytes), differs)
		if x.About != "" {
			about = append(about, x.Name+": "+x.About)
		}
	}
	s.Blocks = []Block{{Table: t}, {Fold: title, Inside: []Block{{Items: about}}}}
	return s
}

// ColdSection compares the CPU during the warm-up with that of the measured window.
func (d *Digest) ColdSection() Section {
	s := Section{ID: "cold", Title: "CPU during the warm-up",
		How: "CPU per " + d.Unit() + " during the warm-up, before the measured window, and in it. Runtimes with a just-in-time compiler use more CPU at first; the figures of this report exclude the warm-up."}
	for _, g := range d.Busiest() {
		t := &Table{Caption: format.Upper(d.Caption(g)), Align: "lrrrr", Head: []string{"Subject", "Cold, µs per " + d.Unit(), "Warm, µs per " + d.Unit(), "Cold / warm", format.Upper(d.Units()) + " before warm"}}
		for _, c := range g.Cells {
			if c.cold.Known() {
				warm := Median(c.Trials, func(t *result.Trial) float64 { return float64(t.WarmMessages) })
				t.Add(c.Subject, c.cold.String(), format.Sig(c.PerMessage.Mean), format.Times(c.cold.Mean/c.PerMessage.Mean), format.Sig(warm))
			}
		}
		s.Blocks = append(s.Blocks, Block{Table: t})
	}
	return s
}

// MachineSection describes the machine and the settings of the run.
func (d *Digest) MachineSection() Section {
	return Section{ID: "machine", Title: "The machine and the run", How: "Absolute figures are valid for this machine and this run only. Ratios depend less on the machine.",
		Blocks: []Block{{Table: d.machineTable()}, {Table: d.planTable()}, {Table: d.agentsTable()}}}
}

// fact adds a row, unless its value is unknown.
func (t *Table) fact(name, value string) {
	if value != "" && value != format.Absent {
		t.Add(name, value)
	}
}

func (d *Digest) machineTable() *Table {
	m := d.Machine
	t := &Table{Caption: "Machine", Align: "ll", Head: []string{"Property", "Value"}}
	t.fact("Processor", strings.TrimSpace(m.CPU+", "+format.Plural(m.Cores, "core", "cores")))
	t.fact("Memory", format.Bytes(int64(m.MemoryMB)<<20))
	t.fact("Kernel", m.Kernel)
	t.fact("Virtual machine", map[bool]string{true: "yes", false: "no"}[m.Hypervisor])
	t.fact("TCP congestion control", m.Congestion)
	t.fact("Weir", m.Weir)
	t.fact("Versions", strings.Join(d.versions(), ", "))
	t.fact("CPU accounting", d.Methods()[0].Name)
	return t
}

// versions returns the versions of the machine's toolchains and of the subjects' runtimes.
func (d *Digest) versions() []string {
	v := slices.Clone(d.Machine.Versions)
	for _, s := range d.Subjects {
		if s.Version != "" && !slices.Contains(v, s.Version) {
			v = append(v, s.Version)
		}
	}
	return v
}

func (d *Digest) planTable() *Table {
	p := d.Plan
	t := &Table{Caption: "Run", Align: "ll", Head: []string{"Setting", "Value"}}
	t.fact("Started", stamp(d.Started))
	t.fact("Finished", stamp(d.Finished))
	t.fact("Workload", p.Workload)
	for _, l := range p.Loads {
		t.fact("Load "+l.Name, d.Describe(l.Name))
	}
	t.fact("Arrivals", strings.Join(p.Patterns, ", "))
	t.fact("Connections", joinInts(p.Connections))
	if len(d.Probes) > 0 {
		t.fact("Capacities", fmt.Sprintf("searched upwards from the load's rate: %s and %s of %s s", format.Plural(len(d.Probes), "probe", "probes"), format.Plural(len(d.Saturation), "measurement", "measurements"), format.Short(p.DurationS)))
	}
	if len(d.KneeProbes) > 0 {
		t.fact("Knees", fmt.Sprintf("searched in %s of %s s", format.Plural(len(d.KneeProbes), "probe", "probes"), format.Short(p.DurationS)))
	}
	if len(d.Trials) > 0 || len(d.Probes)+len(d.KneeProbes) == 0 {
		t.fact("Trials", fmt.Sprintf("%s of %s s in %s, %d accepted", format.Plural(len(d.Trials), "trial", "trials"), format.Short(p.DurationS), d.blocksRun(), d.Accepted()))
	}
	t.fact("Subjects run on cores", joinInts(p.ServerCPUs))
	t.fact("Generator runs on cores", joinInts(p.LoadCPUs))
	t.fact("Network", d.network())
	t.fact("Seed", fmt.Sprint(d.Seed))
	return t
}

// network says what was between the load and the subjects.
func (d *Digest) network() string {
	switch {
	case d.Plan.Agents > 0:
		return fmt.Sprintf("that of %s: %s", format.Plural(d.Plan.Agents, "agent", "agents"), d.agentNames())
	case d.Plan.Namespace:
		return "a veth pair into a namespace"
	}
	return "loopback"
}

// blocksRun is the number of blocks per cell that were run. A time limit or an interruption can
// make it less than the plan's.
func (d *Digest) blocksRun() string {
	least, most := math.MaxInt, 0
	for _, g := range d.Groups {
		seen := map[int]bool{}
		for _, c := range g.allCells() {
			for _, t := range slices.Concat(c.Trials, c.rejected, c.failed) {
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
	return format.Plural(most, "block", "blocks") + " per cell"
}

// stamp formats a time of day; the zero time is "not yet".
func stamp(t time.Time) string {
	if t.IsZero() {
		return "not yet"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// joinInts is a list of numbers: "0, 1".
func joinInts(v []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ", ")
}

// LimitationsSection lists the limits of the figures; work compares the subjects' work with that of
// a real server.
func (d *Digest) LimitationsSection(work string) Section {
	shared := "Generator and subject share one machine, its caches and its memory bandwidth, even on separate cores."
	if d.Plan.Agents > 0 {
		shared = "Agents start a window together, within the times of the table of agents. Their arrivals before and in it do not depend on one another: they are evenly spaced, or random, within each agent."
	}
	return Section{ID: "limitations", Title: "Limitations", How: "What these figures do not show.", Blocks: []Block{{Items: []string{
		"On loopback the kernel does part of the receiver's work in the sender's context. That part counts as CPU of the generator, not of the subject. The report therefore shows the CPU per " + d.Unit() + " of the generator and of the whole machine too.",
		shared,
		work,
		"Confidence intervals describe the noise of this run. They do not cover another kernel, another machine or another version of a runtime.",
		"The coefficient of variation depends on its window and on the load. It says nothing about latency.",
	}}}}
}

// CommandSection holds the command that repeats the run.
func (d *Digest) CommandSection() Section {
	command := Block{Code: d.Command}
	if d.Command == "" {
		command = Paragraph("The command was not recorded.")
	}
	return Section{ID: "repeat", Title: "How to repeat this run", How: "The exact command with its seed. The trials run in the same order; the figures differ by noise.", Blocks: []Block{command}}
}
