package profile

import (
	"slices"
	"strings"
	"time"

	"weir/lab/result"
)

// blocksOfTrial is the number of parts of equal length into which a trial is split. Their
// differences give the confidence intervals.
const blocksOfTrial = 10

// A Frame is a function in a call stack.
type Frame struct {
	Name   string
	Kernel bool
}

// A Profile holds the folded call stacks of one subject, of one or more trials.
type Profile struct {
	Subject  string
	Period   time.Duration // of CPU that a sample stands for
	Messages []float64     // per block
	Samples  int           // in all blocks
	Notes    []string      // what is missing, in sentences without a full stop
	// CPU of the same trials by the lab's accounting, in ns by block
	accounted []float64

	window time.Duration // of all trials
	trials int
	faults []string // why trials would not count in a run, one for each
	stacks map[string]*stack
}

// stack is a folded call stack.
type stack struct {
	frames []Frame // outermost first
	counts []int   // samples by block; shorter than Profile.Messages where the rest is 0
}

// An observed stack is a sample with the names of its functions.
type observed struct {
	frames []Frame       // outermost first; equal stacks share one slice
	at     time.Duration // CLOCK_MONOTONIC
}

// window is the measured window of a trial.
type window struct {
	start    time.Duration // CLOCK_MONOTONIC
	length   time.Duration
	messages int64
	cpu      []result.Sample // the subject's cumulative CPU by the lab's accounting, from the start
}

// add adds the samples of a trial's measured window. The generator sends at a constant rate, so
// each block has the same number of messages.
func (p *Profile) add(samples []observed, w window) {
	first := len(p.Messages)
	p.window += w.length
	for i := range blocksOfTrial {
		at := func(block int) float64 { return w.cpuAt(time.Duration(block) * w.length / blocksOfTrial) }
		p.accounted = append(p.accounted, at(i+1)-at(i))
		p.Messages = append(p.Messages, float64(w.messages)/blocksOfTrial)
	}
	for _, x := range samples {
		if x.at >= w.start && x.at < w.start+w.length {
			p.addStack(x.frames, first+int(blocksOfTrial*(x.at-w.start)/w.length))
		}
	}
}

// cpuAt returns the CPU in ns that the subject had used at an offset into the window, between the
// nearest readings.
func (w *window) cpuAt(offset time.Duration) float64 {
	ms := float64(offset) / float64(time.Millisecond)
	i := slices.IndexFunc(w.cpu, func(s result.Sample) bool { return s.AtMS >= ms })
	switch {
	case len(w.cpu) == 0:
		return 0
	case i < 0:
		return float64(w.cpu[len(w.cpu)-1].CPUNS)
	case i == 0:
		return float64(w.cpu[0].CPUNS)
	}
	before, after := w.cpu[i-1], w.cpu[i]
	share := (ms - before.AtMS) / (after.AtMS - before.AtMS)
	return float64(before.CPUNS) + share*float64(after.CPUNS-before.CPUNS)
}

// note adds a note that the profile does not have yet.
func (p *Profile) note(text string) {
	if !slices.Contains(p.Notes, text) {
		p.Notes = append(p.Notes, text)
	}
}

// addStack counts a sample.
func (p *Profile) addStack(frames []Frame, block int) {
	key := foldKey(frames)
	s := p.stacks[key]
	if s == nil {
		s = &stack{frames: frames}
		if p.stacks == nil {
			p.stacks = map[string]*stack{}
		}
		p.stacks[key] = s
	}
	for len(s.counts) <= block {
		s.counts = append(s.counts, 0)
	}
	s.counts[block]++
	p.Samples++
}

// foldKey returns the identity of a stack. Names are printable, so they contain no byte 0 or 1.
func foldKey(frames []Frame) string {
	var b strings.Builder
	for _, f := range frames {
		if b.WriteString(f.Name); f.Kernel {
			b.WriteByte(1)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// total returns the number of messages in all blocks.
func (p *Profile) total() (n float64) {
	for _, m := range p.Messages {
		n += m
	}
	return n
}

// perMessage returns the CPU in ns per message that a number of samples of all blocks stands for.
func (p *Profile) perMessage(samples int) float64 {
	if p.total() == 0 {
		return 0
	}
	return float64(samples) * float64(p.Period) / p.total()
}

// accountedValues returns the CPU by the lab's accounting, in ns per message by block.
func (p *Profile) accountedValues() []float64 {
	values := make([]float64, len(p.Messages))
	for i, ns := range p.accounted {
		if p.Messages[i] > 0 {
			values[i] = ns / p.Messages[i]
		}
	}
	return values
}

// blockValues converts samples by block to ns per message by block.
func (p *Profile) blockValues(counts []int) []float64 {
	values := make([]float64, len(p.Messages))
	for i, n := range counts {
		if p.Messages[i] > 0 {
			values[i] = float64(n) * float64(p.Period) / p.Messages[i]
		}
	}
	return values
}

func (s *stack) total() (n int) {
	for _, c := range s.counts {
		n += c
	}
	return n
}
