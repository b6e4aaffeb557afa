package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

func (d *digest) subjectsSection() section {
	s := section{ID: "subjects", Title: "The subjects",
		How: "What was compared, and where its work is not equal to the others'. Lines are lines of code; dependencies are third-party libraries beside the language's own."}
	if len(d.Subjects) == 0 {
		return s
	}
	t := &table{Caption: "Subjects", Align: "llllrrrl", Head: []string{"Subject", "Language", "Version", "Paradigm", "Lines", "Dependencies", "Binary", "What differs"}}
	var about []string
	for _, x := range d.Subjects {
		differs := orElse(x.Differs, "nothing known")
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
		s.Blocks = append(s.Blocks, block{Fold: d.aboutTitle(), Inside: []block{{Items: about}}})
	}
	return s
}

// aboutTitle stands above what the subjects say of themselves.
func (d *digest) aboutTitle() string {
	if d.Plan.Stack() {
		return "What each is"
	}
	return "What each does with a " + d.unit()
}

// refusalsSection counts refusals by reason; the numbers in a reason differ from trial to trial, so
// that reasons are joined up to their first colon or digit.
func (d *digest) refusalsSection() section {
	s := section{ID: "refusals", Title: "Refusals",
		How: "A trial that its own generator, the lab, a neighbour or the hypervisor spoiled is refused and run again. It counts for nothing above, whatever it showed. " +
			"A trial in which the subject itself failed is not run again: it counts as its failure, and its figures are not used."}
	if len(d.Trials) == 0 {
		return s
	}
	if d.failed() > 0 {
		s.Blocks = []block{{Table: d.failuresTable()}}
	}
	refused := d.refused()
	if refused == 0 {
		s.Blocks = append(s.Blocks, text("None of %s was refused.", plural(len(d.Trials), "trial", "trials")))
		return s
	}
	reasons := d.refusalReasons()
	t := &table{Caption: fmt.Sprintf("%d of %s refused", refused, plural(len(d.Trials), "trial", "trials")), Align: "lrl", Head: []string{"Reason", "Trials", "For example"}}
	for _, r := range reasons {
		t.add(r.kind, count(r.trials), r.example)
	}
	s.Blocks = append(s.Blocks, block{Table: t})
	return s
}

type refusal struct {
	kind, example string
	trials        int
}

// refusalReasons is the kinds of refusal, most frequent first.
func (d *digest) refusalReasons() []refusal {
	var out []refusal
	for i := range d.Trials {
		t := &d.Trials[i]
		if t.Accepted || len(t.FailedBecause) > 0 {
			continue
		}
		why := t.RefusedBecause
		if len(why) == 0 {
			why = []string{"no reason recorded"}
		}
		for _, w := range why {
			kind := reasonKind(w)
			at := slices.IndexFunc(out, func(r refusal) bool { return r.kind == kind })
			if at < 0 {
				out = append(out, refusal{kind, fmt.Sprintf("trial %d (%s): %s", t.ID, t.Subject, w), 0})
				at = len(out) - 1
			}
			out[at].trials++
		}
	}
	slices.SortStableFunc(out, func(a, b refusal) int { return cmp.Compare(b.trials, a.trials) })
	return out
}

func reasonKind(why string) string {
	i := strings.IndexAny(why, ":0123456789")
	switch {
	case i <= 0:
		return strings.TrimSpace(why)
	case why[i] == ':':
		return why[:i]
	}
	return strings.TrimSpace(why[:i]) + " …"
}

func (d *digest) coldSection() section {
	s := section{ID: "cold", Title: "Cold figures",
		How: "CPU per " + d.unit() + " during the warm-up, before the measured window, beside the warm figure. Runtimes that compile while they run start dear; the measured figures leave this out."}
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
			t.add(c.subject, c.cold.String(), sig(c.perMessage.mean), times(c.cold.mean/c.perMessage.mean), sig(middle(warm)))
		}
		if len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, block{Table: t})
		}
	}
	return s
}

func (d *digest) machineSection() section {
	return section{ID: "machine", Title: "The machine and the run", How: "Absolute figures hold for this machine and this hour; ratios carry further.",
		Blocks: []block{{Table: d.machineTable()}, {Table: d.planTable()}}}
}

// fact adds a row, unless its value is not known.
func (t *table) fact(name, value string) {
	if value != "" && value != absent {
		t.add(name, value)
	}
}

func (d *digest) machineTable() *table {
	m := d.Machine
	t := &table{Caption: "Machine", Align: "ll", Head: []string{"What", "Value"}}
	t.fact("Processor", strings.TrimSpace(m.CPU+", "+plural(m.Cores, "core", "cores")))
	t.fact("Memory", Bytes(int64(m.MemoryMB)<<20))
	t.fact("Kernel", m.Kernel)
	t.fact("Virtual machine", map[bool]string{true: "yes", false: "no"}[m.Hypervisor])
	t.fact("TCP congestion control", m.Congestion)
	t.fact("Weir", m.Weir)
	t.fact("Versions", strings.Join(d.versions(), ", "))
	t.fact("CPU accounting", d.rulers()[0].Name)
	return t
}

// versions is those of the machine's toolchains, and what subjects say that they run on.
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
	t := &table{Caption: "Run", Align: "ll", Head: []string{"What", "Value"}}
	t.fact("Started", stamp(d.Started))
	t.fact("Finished", stamp(d.Finished))
	t.fact("Workload", p.Workload)
	for _, l := range p.Loads {
		t.fact("Load "+l.Name, d.describe(l.Name))
	}
	t.fact("Arrivals", strings.Join(p.Patterns, ", "))
	t.fact("Connections", joinInts(p.Connections))
	if len(d.Probes) > 0 {
		t.fact("Capacities", fmt.Sprintf("searched from the load's rate on: %s and %s of %s s", plural(len(d.Probes), "probe", "probes"), plural(len(d.Saturation), "measurement", "measurements"), short(p.DurationS)))
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

// blocksRun is how many blocks of a cell were run, which time or an interruption may have kept
// under the plan's.
func (d *digest) blocksRun() string {
	least, most := math.MaxInt, 0
	for _, g := range d.groups {
		seen := map[int]bool{}
		for _, c := range g.all() {
			for _, t := range slices.Concat(c.trials, c.refused, c.failed) {
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

func (d *digest) limitationsSection() section {
	return section{ID: "limitations", Title: "Limitations", How: "What these figures do not say.", Blocks: []block{{Items: []string{
		"On loopback the kernel does part of a receiver's work in the sender's context. That part is on the generator's account, not the subject's: this is why the generator's and the whole machine's CPU per " + d.unit() + " stand beside the subject's.",
		"Generator and subject share one machine, its caches and its memory bandwidth, even where they have cores of their own.",
		d.workLimitation(),
		"Intervals describe the noise of this run. They do not cover another kernel, another machine or another version of a runtime.",
		"The coefficient of variation belongs to its window and its load; it says nothing about latency.",
	}}}}
}

// workLimitation says what the servers' work stands for.
func (d *digest) workLimitation() string {
	if d.Plan.HTTP() {
		return "One small file, asked for again and again, is not a site: everything is in some cache, and what a server does with many files, large ones, TLS or slow clients is not in these figures."
	}
	return "Moving bytes is not a service. A server that parses, stores or computes spends its CPU elsewhere, and the share that its paradigm decides shrinks: --work-us and --wait-ms show by how much."
}

func (d *digest) commandSection() section {
	s := section{ID: "repeat", Title: "Repeat it", How: "The exact command, seed included. Trials will run in the same order; their figures will differ by noise."}
	if d.Command == "" {
		s.Blocks = []block{text("The command was not recorded.")}
		return s
	}
	s.Blocks = []block{{Code: d.Command}}
	return s
}
