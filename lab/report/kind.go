package report

import (
	"weir/lab/compare"
	"weir/lab/report/figure"
	"weir/lab/result"
)

// Kind is what is particular to the reports on a workload. Its methods may run at the same time.
type Kind interface {
	// Units returns the word for a message of the workload, and its plural: "request", "requests".
	Units() (one, many string)
	// Describe describes a load: "125 messages/s of 1,000 bytes per connection".
	Describe(l result.Load) string
	// Compare returns what comparisons of subjects and of runs need to know.
	Compare() compare.Kind
	// Caption identifies a group for readers: "64 connections, staggered".
	Caption(d *Digest, g *Group) string
	// Busiest returns the groups that figures and sentences on one load use. There is a trial.
	Busiest(d *Digest) []*Group
	// Answer answers the run's question. There is an accepted trial, or no trial but a probe.
	Answer(d *Digest) Answer
	// Sections returns all sections that a report can have, the most important first. Those
	// without content are left out.
	Sections(d *Digest) []Section
	// Summary returns the tables for a terminal.
	Summary(d *Digest) []*Table
	// TeX returns the tables for LaTeX.
	TeX(d *Digest) []TeXTable
}

// Answer is the answer to the run's question.
type Answer struct {
	Sentences []string
	Figure    *figure.Figure // of the first sentence; nil: nothing was measured there
	How       string         // explains figures and words; empty: they have their usual meaning
	Caveats   []string       // conditions that weaken the answer and that only this kind has
}
