// Package result defines the schema of results.json: the outcome of a run of the lab.
//
// Statistics, reports, comparisons of two runs and the resuming of a run read only this schema.
// Field names contain the units: _us are microseconds, _ns nanoseconds, _percent percent of one
// core, _ratio fractions of one. Times are offsets from the start of the measured window unless the
// comment says otherwise.
//
// Limitations: a file is read into memory as a whole. A run of ten thousand trials takes about
// 100 MB.
package result

import "time"

// Version is the schema's version. It increases by one when a field changes its meaning or is
// removed.
const Version = 1

// ControlSuffix is appended to a subject's name to make the name of its A/A control.
const ControlSuffix = "+twin"

// Results is one run of one experiment.
type Results struct {
	Version int `json:"version"`
	// "im", "im-published", or the path of an experiment file
	Experiment string `json:"experiment"`
	Question   string `json:"question"` // the experiment's question, in one sentence
	// the comparison that is tested first and alone, with its verdict; nil: none, as in older
	// results
	Headline *Headline `json:"headline,omitempty"`
	// the exact command that repeats the run, seed included
	Command  string    `json:"command"`
	Seed     uint64    `json:"seed"` // determines the order of the blocks and the A/A control
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"` // zero while the run is incomplete
	Plan     Plan      `json:"plan"`
	Machine  Machine   `json:"machine"`

	Subjects []Subject `json:"subjects"`
	// subjects that could not take part, with the reason
	Skipped []Skip `json:"skipped,omitempty"`
	// explanations that were not available on this machine, with the reason
	Notes []Note `json:"notes,omitempty"`
	// that took part in a run with agents, in the order in which they came
	Agents []Agent `json:"agents,omitempty"`
	// in the order in which they ran, rejected ones included
	Trials      []Trial      `json:"trials"`
	Comparisons []Comparison `json:"comparisons"`
	// the CPU accounting method of the figures first, then the others that were read
	AccountingMethods []AccountingMethod `json:"rulers"`

	// kernel events per message of each subject, from separate trials
	EventCounts []EventCounts `json:"reasons,omitempty"`
	// cost of one context switch on this machine, by kind
	SwitchCosts []SwitchCost `json:"switch_costs,omitempty"`
	// the C subjects built by other compilers and for other machines
	Portability []Portability `json:"portability,omitempty"`
	// trials of the search for each subject's capacity, in the order in which they ran
	Probes []Probe `json:"probes,omitempty"`
	// knees by subject, and the trials of the searches for them, in the order in which they ran
	Knees      []Knee      `json:"knees,omitempty"`
	KneeProbes []KneeProbe `json:"knee_probes,omitempty"`
	// measurements at shares of the capacity, rejected ones included
	Saturation []Saturation `json:"saturation,omitempty"`
}

// Plan holds the settings of a run. Every combination of a subject, a load, a number of connections
// and an arrival pattern is a cell.
type Plan struct {
	Quick bool `json:"quick"`
	// sink or echo; page or files, whose messages are HTTP requests; chat, whose messages are
	// deliveries; stack, whose messages are operations
	Workload    string   `json:"workload"`
	Loads       []Load   `json:"loads"` // usually one; im-published has two
	Connections []int    `json:"connections"`
	Patterns    []string `json:"patterns"` // staggered, together, poisson; closed
	// palindromic blocks per cell; each has two trials of every subject
	Blocks int `json:"blocks"`
	// blocks of the cells with the most connections; 0: Blocks
	BusiestBlocks int     `json:"busiest_blocks,omitzero"`
	DurationS     float64 `json:"duration_s"` // of the measured window
	// window of the coefficient of variation, 500 in the paper
	WindowMS   float64 `json:"window_ms"`
	ServerCPUs []int   `json:"server_cpus"`
	LoadCPUs   []int   `json:"load_cpus"`
	// the subject ran behind a veth pair, not on loopback
	Namespace bool `json:"namespace"`
	// over which the load was split; 0: one generator on the lab's machine offered it
	Agents int `json:"agents,omitempty"`
	// the subject that took part a second time as the A/A control; empty: none
	AAControl string `json:"twin"`
	// equivalence margin: ratios within [1/(1+margin), 1+margin] count as equivalent
	Margin float64 `json:"margin"`
}

// Load is the load that a subject was offered.
type Load struct {
	Name string `json:"name"` // "messages", "tcpkali"
	// name of the load that a sweep varied, of which this is one; empty: of none
	SweepOf string `json:"sweep_of,omitempty"`
	// messages per second on each connection; in tcpkali mode derived from Bits; 0 in a closed loop
	Rate float64 `json:"rate"`
	Size int     `json:"size"` // bytes per message
	// bits per second on each connection in tcpkali's bandwidth mode; else 0
	Bits float64 `json:"bits"`
	// additional connections that are held open without data
	Idle int `json:"idle,omitempty"`
	// additional short connections per second: connect, send one message, close
	Churn  float64 `json:"churn,omitempty"`
	WorkUS int     `json:"work_us"` // CPU work per message in the subject
	WaitMS int     `json:"wait_ms"` // sleep per message in the subject

	Requests Requests `json:"requests,omitzero"` // settings of HTTP requests
	// settings of chat; each member of a room sends Rate messages per second
	Rooms Rooms `json:"rooms,omitzero"`

	// settings of a TCP/IP stack; Rate is the pings per second of each flow
	Operation Operation `json:"operation,omitzero"`
}

// Machine describes the machine of the run.
type Machine struct {
	Kernel     string   `json:"kernel"`
	CPU        string   `json:"cpu"`
	Cores      int      `json:"cores"`
	MemoryMB   int      `json:"memory_mb"`
	Hypervisor bool     `json:"hypervisor"`
	Congestion string   `json:"congestion"` // TCP congestion control in use
	Versions   []string `json:"versions"`   // "go1.26.8", "gcc 12.2.0", ...
	Weir       string   `json:"weir"`       // the version of the lab itself
}

// Subject describes a server under test, from its subject.toml.
type Subject struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	Version  string `json:"version,omitempty"` // of its runtime, "OpenJDK 25.0.1"
	Paradigm string `json:"paradigm"`          // its concurrency model
	About    string `json:"about"`
	// differences between its work and that of the others, in a sentence
	Differs string `json:"differs,omitempty"`
	// a chat server's durability: the fate of acknowledged messages when it is killed
	Durability   string `json:"durability,omitempty"`
	Lines        int    `json:"lines"`        // of code
	Dependencies int    `json:"dependencies"` // third-party libraries
	BinaryBytes  int64  `json:"binary_bytes"`
	Elsewhere    bool   `json:"elsewhere"` // not started by the lab: its CPU is not measured
	// an agent beside it measured its CPU
	Beside bool `json:"beside,omitempty"`
	// Elsewhere, but on this machine: its CPU cannot be separated from that of other processes
	SameMachine bool `json:"here,omitempty"`
}

// Skip is a subject that did not take part.
type Skip struct {
	Subject string `json:"subject"`
	Reason  string `json:"reason"`
}

// Note is an explanation of the trials that was not available on this machine.
type Note struct {
	What    string `json:"what"`              // "system calls", "switch costs", "portability"
	Subject string `json:"subject,omitempty"` // empty: all subjects
	Reason  string `json:"why"`
}

// Trial is one run of one subject under one load.
type Trial struct {
	ID          int    `json:"id"`      // 1 for the first
	Subject     string `json:"subject"` // with ControlSuffix for the A/A control
	Load        string `json:"load"`    // the name of a Plan.Loads entry
	Connections int    `json:"connections"`
	Pattern     string `json:"pattern"`
	// blocks are counted from 0 within a (load, connections, pattern) group, those of the
	// headline's own from FirstHeadlineBlock
	Block    int       `json:"block"`
	Position int       `json:"position"` // in the block, from 0
	Attempt  int       `json:"attempt"`  // 1 for the first attempt at this position
	Started  time.Time `json:"started"`

	// of one core, the subject's whole process tree
	CPUPercentMean float64 `json:"cpu_percent_mean"`
	// coefficient of variation over windows of Plan.WindowMS; 0 with fewer than two windows
	CPUCV           float64 `json:"cpu_cv,omitzero"`
	CPUUSPerMessage float64 `json:"cpu_us_per_message"`     // subject
	LoadUSPerMsg    float64 `json:"load_us_per_message"`    // load generator
	MachineUSPerMsg float64 `json:"machine_us_per_message"` // whole machine
	ColdUSPerMsg    float64 `json:"cold_us_per_message"`    // subject, during the warm-up
	WarmMessages    int64   `json:"warm_messages"`          // messages before the measured window
	// the warm-up reached its time limit before CPU per message was steady
	Unsteady bool `json:"unsteady,omitempty"`

	// sent in the measured window, those of short connections included
	Messages      int64   `json:"messages"`
	Bytes         int64   `json:"bytes"`
	OfferedRate   float64 `json:"offered_rate"`   // messages per second, all connections
	AchievedRatio float64 `json:"achieved_ratio"` // sent / offered
	// messages that were not sent on schedule because their connection was not writable
	Behind     int64       `json:"behind"`
	LatenessUS Percentiles `json:"lateness_us"` // actual minus intended send time
	GapUS      Percentiles `json:"gap_us"`      // between messages of one connection
	// echo only; from the intended send time
	LatencyUS Percentiles `json:"latency_us,omitzero"`
	// mean of the latencies whose percentiles are LatencyUS; 0: not known
	LatencyMeanUS float64 `json:"latency_mean_us,omitzero"`
	// arrival pattern together only; from a burst's first message to its last
	SpreadUS     Percentiles `json:"spread_us,omitzero"`
	Churn        *Churn      `json:"churn,omitempty"`      // loads with short connections
	HTTP         *HTTP       `json:"http,omitempty"`       // loads of requests
	Stack        *OnStack    `json:"stack,omitempty"`      // operations on TCP/IP stacks
	LoadRunQueue float64     `json:"load_run_queue_ratio"` // generator's run-queue wait / duration
	// what each agent did, of a load that was split; the figures of the load are those of all
	// together, LoadRunQueue that of the agent that waited most
	Agents  []AgentShare `json:"agents,omitempty"`
	WindowS float64      `json:"window_s"` // length of the measured window
	// the subject's run-queue wait, all threads / duration
	RunQueueRatio float64 `json:"run_queue_ratio,omitzero"`

	Memory   Memory   `json:"memory"`
	Switches Switches `json:"switches"`
	GC       *GC      `json:"gc,omitempty"` // Go subjects
	// 20 per second over the measured window
	Samples []Sample `json:"samples"`
	// mean CPU in % of a core by method name
	CPUByMethod map[string]float64 `json:"rulers,omitempty"`

	// the figures are used: the trial was neither rejected nor did the subject fail
	Accepted bool `json:"accepted"`
	// why the measurement is not valid; empty: not rejected
	RejectedBecause []string `json:"refused_because"`
	// failures of the subject; such a trial is not repeated and may lack figures
	FailedBecause []string `json:"failed_because,omitempty"`
	// failure of the subject to stop cleanly after the window
	StopFailure string `json:"ended_badly,omitempty"`
	// what limited the messages: one of the Limit constants; empty: not known
	Limit string `json:"limit,omitempty"`
}

// Churn holds the outcomes of the short connections that were due in the measured window: connect,
// send one message, close.
type Churn struct {
	Offered int64 `json:"offered"`
	Done    int64 `json:"done"` // closed by both sides without an error
	// started late or not at all, because the server delayed earlier ones
	Behind     int64       `json:"behind"`
	DurationUS Percentiles `json:"duration_us"` // from the intended start
}

// Percentiles summarises a distribution.
type Percentiles struct {
	P01  float64 `json:"p01"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Sample is the subject's cumulative CPU time at an instant of the measured window.
type Sample struct {
	AtMS  float64 `json:"at_ms"`
	CPUNS int64   `json:"cpu_ns"`
}

// Memory is the memory of the subject's whole process tree.
type Memory struct {
	PeakRSSKB int64 `json:"peak_rss_kb"` // shared pages counted once for each process
	PSSKB     int64 `json:"pss_kb"`      // shared pages divided among the processes that map them
	Processes int   `json:"processes"`
	Threads   int   `json:"threads"`
}

// Switches counts context switches in the measured window, whole tree.
type Switches struct {
	Voluntary   int64 `json:"voluntary"`
	Involuntary int64 `json:"involuntary"`
}

// GC holds the figures of the Go garbage collector in the measured window.
type GC struct {
	Cycles       int     `json:"cycles"`
	SharePercent float64 `json:"share_percent"` // of the subject's CPU
	MaxPauseUS   float64 `json:"max_pause_us"`
}

// Comparison is the paired comparison of two subjects in one metric and one cell.
type Comparison struct {
	A           string  `json:"a"`
	B           string  `json:"b"`
	Metric      string  `json:"metric"` // cpu_us_per_message, cpu_cv, requests_per_s
	Load        string  `json:"load"`
	Connections int     `json:"connections"`
	Pattern     string  `json:"pattern"`
	Ratio       float64 `json:"ratio"` // A / B
	// 95 % confidence interval before correction; both are 0 without one
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// confidence interval with the correction of p; 0 without one, and in older results
	VerdictLow  float64 `json:"verdict_low,omitempty"`
	VerdictHigh float64 `json:"verdict_high,omitempty"`
	Pairs       int     `json:"pairs"` // blocks in which both have accepted trials
	// with the correction over all comparisons in this metric
	P       float64 `json:"p"`
	Verdict string  `json:"verdict"` // different, equivalent, undecided
	// B is the A/A control of A: "different" is an error of the measurement
	AAControl bool   `json:"twin"`
	Warning   string `json:"warning,omitempty"`
}

// AccountingMethod describes a method of CPU accounting.
type AccountingMethod struct {
	// "cgroup v1 cpuacct.usage", "sum of /proc/PID/stat", "top, first 18 rows"
	Name    string `json:"name"`
	About   string `json:"about"` // what it counts and what it misses
	Primary bool   `json:"truth"` // the figures of the report use it
}

// EventCounts holds the kernel events per message of a subject, from a trial whose CPU figures are
// not used.
type EventCounts struct {
	Subject     string             `json:"subject"`
	Connections int                `json:"connections"`
	Pattern     string             `json:"pattern"`
	Tool        string             `json:"tool"`     // "tracepoints", "strace"
	Syscalls    float64            `json:"syscalls"` // per message
	ByName      map[string]float64 `json:"by_name"`  // per message, by system call
	// per message; -1 if the tool does not count them
	Wakeups float64 `json:"wakeups"`
	// context switches per message; -1 if the tool does not count them
	Switches float64 `json:"switches"`
	Messages int64   `json:"messages"` // during the trial
	Note     string  `json:"note,omitempty"`
}

// SwitchCost is the cost of one switch from one flow of control to another.
type SwitchCost struct {
	// "processes", "threads", "goroutines", "channel", "coroutines"
	Between string  `json:"between"`
	NS      float64 `json:"ns"`   // median of the repetitions
	Low     float64 `json:"low"`  // fastest repetition
	High    float64 `json:"high"` // slowest repetition
	How     string  `json:"how"`  // how it was measured, in a phrase
}

// Portability is a C subject built for one target and tested against the parts of the contract
// that transfer data and stop processes. The other parts are not tested.
type Portability struct {
	Subject string `json:"subject"`
	// "gcc x86-64", "clang x86-64", "musl x86-64", "gcc 32-bit", "gcc arm64 (qemu-user)"
	Target string `json:"target"`
	Built  bool   `json:"built"`
	Passed bool   `json:"passed"`
	// why it was not built, or which check failed; "not tested: ..." if neither was tried
	Note string `json:"note,omitempty"`
}

// Probe is one rate of the search for a subject's capacity.
type Probe struct {
	Subject        string  `json:"subject"`
	Load           string  `json:"load"`
	Connections    int     `json:"connections"`
	Pattern        string  `json:"pattern"`
	Rate           float64 `json:"rate"` // offered messages per second, all connections
	AchievedRatio  float64 `json:"achieved_ratio"`
	Behind         int64   `json:"behind"`           // messages whose connection was not writable
	LatenessP99US  float64 `json:"lateness_p99_us"`  // actual minus intended send time
	LatencyP99US   float64 `json:"latency_p99_us"`   // from the intended send to the echo
	CPUPercentMean float64 `json:"cpu_percent_mean"` // subject
	// the generator's CPU and its wait for a core, in percent of a core
	LoadPercent float64 `json:"load_percent"`
	KeptUp      bool    `json:"kept_up"`
	// not kept up because of the generator, not of the subject
	GeneratorBound bool `json:"generator_bound"`
	// trials at this rate; over 1 if a trial was disturbed and did not keep up
	Attempts    int      `json:"attempts"`
	DisturbedBy []string `json:"disturbed_by,omitempty"` // every attempt; empty: not disturbed
}

// Bracket returns the two probes that bound a subject's capacity: the highest rate that it kept up
// with, and the lowest with which it did not. Either is zero if there is no such probe.
func (r *Results) Bracket(subject, load string, connections int, pattern string) (kept, gaveOut Probe) {
	for _, p := range r.Probes {
		switch {
		case p.Subject != subject || p.Load != load || p.Connections != connections || p.Pattern != pattern:
		case p.KeptUp && p.Rate > kept.Rate:
			kept = p
		case !p.KeptUp && (gaveOut.Rate == 0 || p.Rate < gaveOut.Rate):
			gaveOut = p
		}
	}
	return kept, gaveOut
}

// Saturation is one measurement of a subject at a share of its capacity.
type Saturation struct {
	Subject     string `json:"subject"`
	Load        string `json:"load"`
	Connections int    `json:"connections"`
	Pattern     string `json:"pattern"`
	// messages per second, all connections: the highest rate that the subject kept up with
	CapacityRate float64 `json:"capacity_rate"`
	// the generator reached its limit first: the capacity is at least CapacityRate
	GeneratorBound bool    `json:"generator_bound"`
	SharePercent   float64 `json:"share_percent"` // of the capacity: 70, 85, 95
	// palindromic, counted from 0; each has two positions for every subject and share
	Round          int         `json:"round"`
	Position       int         `json:"position"` // in the round, from 0
	Attempt        int         `json:"attempt"`  // 1 for the first attempt at this position
	Started        time.Time   `json:"started"`
	CPUPercentMean float64     `json:"cpu_percent_mean"`
	CPUCV          float64     `json:"cpu_cv"`
	LatencyUS      Percentiles `json:"latency_us"`  // from the intended send to the echo
	LatenessUS     Percentiles `json:"lateness_us"` // of the sends; part of the latency
	AchievedRatio  float64     `json:"achieved_ratio"`
	Behind         int64       `json:"behind"`
	// the generator's CPU and its wait for a core, in percent of a core
	LoadPercent float64 `json:"load_percent"`
	// failures of the subject at this share; the measurement counts nevertheless
	FailedBecause   []string `json:"failed_because,omitempty"`
	Accepted        bool     `json:"accepted"`
	RejectedBecause []string `json:"refused_because"`
}
