package result

// The verdicts of a comparison.
const (
	Different  = "different"  // the ratio is not 1
	Equivalent = "equivalent" // the ratio lies within the plan's margin
	Undecided  = "undecided"  // this run cannot tell
)

// The metrics that are compared, by the names that their fields have in a trial.
const (
	MetricCPU = "cpu_us_per_message"
	MetricCV  = "cpu_cv"
)
