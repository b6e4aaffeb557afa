package result

// FirstHeadlineBlock is the number of the first block in which only the headline's subjects and
// their A/A control take part. Only the headline's test uses these blocks, because their number
// depends on their figures.
const FirstHeadlineBlock = 1000

// OfHeadline reports whether the trial belongs to one of the headline's own blocks.
func (t *Trial) OfHeadline() bool { return t.Block >= FirstHeadlineBlock }

// Headline is the comparison that a run tests first and alone, and its verdict.
type Headline struct {
	A           string `json:"a"`
	B           string `json:"b"`
	Metric      string `json:"metric"` // one of the Metric constants, without MetricCV
	Load        string `json:"load"`
	Connections int    `json:"connections"`
	Pattern     string `json:"pattern"`
	// which headline of the experiment could not be tested, and why; empty: this is its headline
	Instead string `json:"instead,omitempty"`

	// blocks of its own for which the sequential test is planned; 0: one test of all blocks
	PlannedBlocks int `json:"planned_blocks,omitempty"`

	Verdict string  `json:"verdict"` // different, equivalent, undecided
	Blocks  int     `json:"blocks"`  // in which both have their accepted trials
	Looks   int     `json:"looks"`   // times at which a verdict was possible
	Ratio   float64 `json:"ratio"`   // A / B; 0 without a block
	// confidence interval for all looks together; both are 0 without one
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	P    float64 `json:"p"` // of a ratio of 1, for all looks together
	// the same for the A/A control in the same blocks, the subject over its control; 0 without one
	ControlRatio float64 `json:"control_ratio,omitempty"`
	ControlLow   float64 `json:"control_low,omitempty"`
	ControlHigh  float64 `json:"control_high,omitempty"`
	Warning      string  `json:"warning,omitempty"` // limits of the verdict; empty: none
}

// Tested reports whether the headline had a test, and not only trials.
func (h *Headline) Tested() bool { return h != nil && h.Looks > 0 }

// Choice returns what is compared and in which blocks, without figures, as undecided.
func (h *Headline) Choice() Headline {
	return Headline{A: h.A, B: h.B, Metric: h.Metric, Load: h.Load, Connections: h.Connections, Pattern: h.Pattern,
		Instead: h.Instead, PlannedBlocks: h.PlannedBlocks, Verdict: Undecided, P: 1}
}
