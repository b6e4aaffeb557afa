package gate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"weir/lab/result"
	"weir/lab/stat/sequential"
)

// An Outcome is the result of a gate, and its JSON form.
type Outcome struct {
	Verdict string `json:"verdict"`          // NoWorse, Worse, Undecided or Recorded
	Reason  string `json:"reason,omitempty"` // why it is undecided
	Base    *Build `json:"base,omitempty"`   // nil with a baseline
	Head    *Build `json:"head"`
	// the version of the baseline that HEAD was compared with; empty: none
	Baseline   string         `json:"baseline,omitempty"`
	Load       Load           `json:"load"`
	Margin     float64        `json:"margin"`     // relative
	Confidence float64        `json:"confidence"` // of each limit, over all judged metrics
	Planned    int            `json:"planned_blocks"`
	Blocks     int            `json:"blocks"`
	Trials     int            `json:"trials"`
	Disturbed  int            `json:"disturbed_trials"` // that the lab would reject; they count
	TookS      float64        `json:"took_s"`           // starts and trials
	Metrics    []Judgement    `json:"metrics"`
	Control    Judgement      `json:"aa_control"` // CPU per message of the same program, again
	Machine    result.Machine `json:"machine"`
	Warnings   []string       `json:"warnings,omitempty"`
	Command    string         `json:"command"`

	figures []figures // of HEAD by block, for a baseline
	noise   float64
	bytes   int64
}

// A Load describes the load of a gate.
type Load struct {
	Workload    string      `json:"workload"`
	Connections int         `json:"connections"`
	DurationS   float64     `json:"duration_s"` // of a measured window
	Settings    result.Load `json:"settings"`
}

// String is the load's JSON, which names its settings.
func (l Load) String() string {
	text, err := json.Marshal(l)
	if err != nil {
		return err.Error() // a number that JSON does not have, which no load contains
	}
	return string(text)
}

// A Judgement is one metric of an Outcome.
type Judgement struct {
	Name   string  `json:"name"`
	Title  string  `json:"title"`
	Unit   string  `json:"unit"`
	Judged bool    `json:"judged"` // its verdict counts; the others are listed only
	Base   float64 `json:"base"`   // geometric mean over the blocks
	Head   float64 `json:"head"`
	// Ratio is HEAD/BASE, or BASE/HEAD of a throughput: over 1 is worse.
	Ratio float64 `json:"ratio"`
	// Low and High are the confidence interval of Ratio; both 0 if there is none.
	Low     float64 `json:"low,omitempty"`
	High    float64 `json:"high,omitempty"`
	Verdict string  `json:"verdict"`
	Blocks  int     `json:"blocks,omitempty"` // until the verdict
}

func (g *run) outcome(r *result.Results) *Outcome {
	c, f := g.config, g.flow
	o := &Outcome{
		Base: g.base, Head: g.head, Load: loadOf(c.experiment(0)), Margin: c.Margin, Confidence: c.Confidence, Planned: f.planned, Blocks: f.blocks,
		Trials: len(r.Trials), TookS: time.Since(g.began).Seconds(), Machine: r.Machine, Command: c.Command, noise: f.control.noise(), bytes: int64(g.headBytes()),
	}
	if c.Baseline != nil {
		o.Baseline = c.Baseline.String()
	}
	for i := range r.Trials {
		if !r.Trials[i].Accepted {
			o.Disturbed++
		}
	}
	for _, b := range g.blocks {
		o.figures = append(o.figures, b.head)
	}
	o.Metrics = g.judgements()
	o.Control = f.control.judgement()
	o.nameMessages(c.Load.Unit())
	if o.Verdict, o.Reason = verdictOf(o.Metrics, f); c.Record && !f.control.differs() {
		o.recorded()
	}
	o.warn()
	o.Warnings = append(o.Warnings, f.failureTexts()...)
	o.warnOfAnswers(r)
	return o
}

// judgements returns those of the metrics that were measured.
func (g *run) judgements() (all []Judgement) {
	for _, t := range g.flow.tracks {
		if len(t.head) > 0 {
			all = append(all, t.judgement())
		}
	}
	if g.startup != nil {
		all = append(all, g.startup.judgement())
	}
	if base, head := g.baseBytes(), g.headBytes(); base > 0 && head > 0 {
		all = append(all, sizeJudgement(base, head, g.config.Margin, slices.Contains(g.config.Metrics, MetricBinary)))
	}
	return all
}

// recorded makes the outcome that of a gate without a version to compare with: it judges nothing.
func (o *Outcome) recorded() {
	o.Verdict, o.Reason = Recorded, ""
	for i := range o.Metrics {
		o.Metrics[i].Judged = false
	}
}

// nameMessages puts the load's word for a message into the titles: "CPU per request".
func (o *Outcome) nameMessages(unit string) {
	named := func(title string) string { return strings.Replace(title, "message", unit, 1) }
	for i := range o.Metrics {
		o.Metrics[i].Title = named(o.Metrics[i].Title)
	}
	o.Control.Title = named(o.Control.Title)
}

// verdictOf returns the verdict of all judged metrics, and why it is undecided.
func verdictOf(all []Judgement, f *flow) (verdict, reason string) {
	judged := slices.DeleteFunc(slices.Clone(all), func(j Judgement) bool { return !j.Judged })
	with := func(verdict string) bool {
		return slices.ContainsFunc(judged, func(j Judgement) bool { return j.Verdict == verdict })
	}
	switch {
	case f.control.differs():
		return Undecided, "the A/A control differs from its own program: something besides the program changes its CPU"
	case with(Worse):
		return Worse, ""
	case with(Undecided) && f.blocks < f.planned:
		return Undecided, "the time ended before the planned number of blocks"
	case with(Undecided):
		return Undecided, "the interval allows more than one answer after all planned blocks: give more time, or a quieter machine"
	}
	return NoWorse, ""
}

// warn collects what a reader must know.
func (o *Outcome) warn() {
	if o.Baseline != "" {
		o.Warnings = append(o.Warnings, "HEAD was not interleaved with the baseline: a change of the machine's speed in between counts as a difference")
	}
	if o.Planned < MinBlocks {
		o.Warnings = append(o.Warnings, fmt.Sprintf("only %d blocks fit the budget; %d or more decide more often", o.Planned, MinBlocks))
	}
	if 2*o.Disturbed > o.Trials {
		o.Warnings = append(o.Warnings, fmt.Sprintf("the machine was busy: %d of %d trials were disturbed. They count, and widen the interval", o.Disturbed, o.Trials))
	}
}

// failureTexts names the versions that failed in some blocks, which are void.
func (f *flow) failureTexts() (all []string) {
	for _, name := range []string{baseName, headName} {
		if n := f.failures[name]; n > 0 {
			all = append(all, fmt.Sprintf("%s failed in %d of %d blocks, which do not count: %s", name, n, f.blocks+n, f.failedBecause[name]))
		}
	}
	return all
}

// warnOfAnswers says if the versions do not answer alike: they do other work then. The load takes
// what a version answers first for right.
func (o *Outcome) warnOfAnswers(r *result.Results) {
	base, head := answerBytes(r, baseName), answerBytes(r, headName)
	if base >= 0 && head >= 0 && math.Abs(base-head) > sameAnswer*max(base, head) {
		o.Warnings = append(o.Warnings, fmt.Sprintf("BASE answers with %.0f bytes and HEAD with %.0f: compare what they answer before you rely on the verdict", base, head))
	}
}

// sameAnswer is the relative difference up to which two lengths of answers are taken for the same:
// answers may contain times.
const sameAnswer = 0.01

// answerBytes returns the mean size in bytes of the body of a version's answers; -1 if it is not
// known.
func answerBytes(r *result.Results, version string) float64 {
	var bytes, answers int64
	for _, t := range r.Trials {
		if t.HTTP != nil && strings.TrimSuffix(t.Subject, againSuffix) == version {
			bytes, answers = bytes+t.HTTP.BodyBytes, answers+t.Messages
		}
	}
	if answers == 0 {
		return -1
	}
	return float64(bytes) / float64(answers)
}

func (t *track) judgement() Judgement {
	j := Judgement{Name: t.name, Title: t.title, Unit: t.unit, Judged: t.judged, Verdict: t.last.Verdict.String(), Blocks: t.last.Blocks, Ratio: t.last.Ratio}
	j.Head = t.scale * math.Exp(stat.Mean(t.head, nil))
	if len(t.base) > 0 {
		j.Base = t.scale * math.Exp(stat.Mean(t.base, nil))
	}
	j.interval(t.last)
	return j
}

// interval sets the interval of a decision that has one.
func (j *Judgement) interval(d sequential.Decision) {
	if !math.IsInf(d.High, 1) {
		j.Low, j.High = d.Low, d.High
	}
}

// different is the verdict of a control that seemed to cost something else the second time.
const different = "different"

func (c *control) judgement() Judgement {
	m := metricNamed(MetricCPU)
	j := Judgement{Name: m.name, Title: m.title, Unit: m.unit, Ratio: c.last.Ratio, Verdict: "same", Blocks: len(c.logs)}
	if len(c.logs) > 0 {
		j.Base, j.Head = m.scale*math.Exp(stat.Mean(c.first, nil)), m.scale*math.Exp(stat.Mean(c.again, nil))
	}
	j.interval(c.last)
	if c.differs() {
		j.Verdict = different
	}
	return j
}

// sizeJudgement compares two sizes, which have no noise.
func sizeJudgement(base, head, margin float64, judged bool) Judgement {
	m := metricNamed(MetricBinary)
	j := Judgement{Name: m.name, Title: m.title, Unit: m.unit, Judged: judged, Base: m.scale * base, Head: m.scale * head, Ratio: head / base, Verdict: NoWorse}
	j.Low, j.High = j.Ratio, j.Ratio
	if j.Ratio > 1+margin {
		j.Verdict = Worse
	}
	return j
}
