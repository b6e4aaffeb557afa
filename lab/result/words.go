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

// MetricRate is compared where the answers themselves set the pace.
const MetricRate = "requests_per_s"

// MetricLatency is compared on TCP/IP stacks: the mean time of an operation.
const MetricLatency = "mean_us"

// Closed is the pattern of loads in which a connection asks again when it has its answer.
const Closed = "closed"

// What the reasons in a trial's RefusedBecause and FailedBecause begin with, where something hangs
// on the kind of reason.
const (
	LoadError        = "load error" // FailedBecause, or RefusedBecause beside a reason from outside
	LoadShort        = "load short"
	GeneratorLate    = "generator late"
	GeneratorGaveOut = "generator gave out first"
	HypervisorTook   = "hypervisor took"
	NeighbourTook    = "another process took"
	LabTook          = "the lab itself took"
)
