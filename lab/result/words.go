package result

// The verdicts of a comparison.
const (
	Different  = "different"  // the ratio is significantly different from 1
	Equivalent = "equivalent" // the ratio lies within the plan's equivalence margin
	Undecided  = "undecided"  // neither was shown
)

// The metrics that are compared, by the JSON names of their fields in a trial.
const (
	MetricCPU = "cpu_us_per_message"
	MetricCV  = "cpu_cv"
)

// MetricRate is compared in closed loops, where the subject sets the rate.
const MetricRate = "requests_per_s"

// MetricLatency is compared on TCP/IP stacks: the mean time of an operation.
const MetricLatency = "mean_us"

// Closed is the arrival pattern of a closed loop: a connection sends its next request when it has
// the response to the last one.
const Closed = "closed"

// The limits of the messages of a trial.
const (
	LimitSchedule    = "schedule"     // the offered rate: all that was due was done on time
	LimitServerCPU   = "server CPU"   // the subject used its cores, or its threads waited for them
	LimitServerWaits = "server waits" // messages were with the subject, which had CPU to spare
	LimitGenerator   = "generator"    // the subject waited for the generator
	LimitSharedCores = "shared cores" // subject and generator used all of the same cores
	LimitElsewhere   = "server or network"
)

// Prefixes of the reasons in a trial's RejectedBecause and FailedBecause. Programs tell the kinds
// of reasons apart by them.
const (
	// in FailedBecause, or in RejectedBecause with an external reason
	LoadError        = "load error"
	LoadShort        = "load short"
	GeneratorLate    = "generator late"
	GeneratorGaveOut = "generator gave out first"
	HypervisorTook   = "hypervisor took"
	NeighbourTook    = "another process took"
	LabTook          = "the lab itself took"
)
