// Package result holds what a run of the lab found, as data: the schema of results.json.
//
// Everything downstream of a measurement (statistics, reports, comparisons of two runs, resuming)
// reads this one form and nothing else. Units stand in the field names: _us are microseconds, _ns
// nanoseconds, _percent are percent of one core, _ratio are fractions of one. Times are offsets
// from the start of the measured window unless the comment says otherwise.
//
// Limitations: a file is read whole into memory; a run of ten thousand trials is about 100 MB.
package result

import "time"

// Version is the schema's version: it grows by one when a field changes its meaning or goes away.
const Version = 1

// TwinSuffix is added to a subject's name for its secret second appearance in a run.
const TwinSuffix = "+twin"

// Results is one run of one experiment.
type Results struct {
	Version int `json:"version"`
	// "im", "im-published", or the path of an experiment file
	Experiment string `json:"experiment"`
	Question   string `json:"question"` // what the experiment asks, in one sentence
	// the exact command that repeats the run, seed included
	Command  string    `json:"command"`
	Seed     uint64    `json:"seed"` // orders the blocks and places the twin
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"` // zero while the run is incomplete
	Plan     Plan      `json:"plan"`
	Machine  Machine   `json:"machine"`

	Subjects []Subject `json:"subjects"`
	// subjects that could not take part, with the reason
	Skipped []Skip `json:"skipped,omitempty"`
	// what could not be found out beside the trials, with the reason
	Notes []Note `json:"notes,omitempty"`
	// in the order in which they ran, refused ones included
	Trials      []Trial      `json:"trials"`
	Comparisons []Comparison `json:"comparisons"`
	// the accounting in use first, then the others that were read beside it
	Rulers []Ruler `json:"rulers"`

	// why a subject costs what it costs, from trials of their own
	Reasons []Reasons `json:"reasons,omitempty"`
	// what one switch costs on this machine
	SwitchCosts []SwitchCost `json:"switch_costs,omitempty"`
	// the C subjects under other compilers and machines
	Portability []Portability `json:"portability,omitempty"`
	// the search for each subject's capacity, in the order in which they ran
	Probes []Probe `json:"probes,omitempty"`
	// variation and tail near capacity, refused measurements included
	Saturation []Saturation `json:"saturation,omitempty"`
}

// Plan is what was to be run. Every combination of a subject, a number of connections and a pattern
// is a cell.
type Plan struct {
	Quick bool `json:"quick"`
	// sink or echo; page or files, whose messages are HTTP requests; chat, whose messages are
	// deliveries; stack, whose messages are operations
	Workload    string   `json:"workload"`
	Loads       []Load   `json:"loads"` // usually one; im-published has two
	Connections []int    `json:"connections"`
	Patterns    []string `json:"patterns"` // staggered, together, poisson; closed
	// palindromic blocks; each holds two trials of every subject
	Blocks int `json:"blocks"`
	// in the cells with the most connections, where that is more than Blocks
	BusiestBlocks int     `json:"busiest_blocks,omitzero"`
	DurationS     float64 `json:"duration_s"`
	WindowMS      float64 `json:"window_ms"` // the window of cpu_cv, 500 in the paper
	ServerCPUs    []int   `json:"server_cpus"`
	LoadCPUs      []int   `json:"load_cpus"`
	// the subject stood behind a veth pair instead of on loopback
	Namespace bool `json:"namespace"`
	// the subject that was secretly in the run twice; empty when none was
	Twin string `json:"twin"`
	// ratios within [1/(1+margin), 1+margin] count as equivalent
	Margin float64 `json:"margin"`
}

// Load is what each connection was offered.
type Load struct {
	Name string `json:"name"` // "messages", "tcpkali"
	// messages a second a connection; for tcpkali mode derived from Bits; 0 in a closed loop
	Rate float64 `json:"rate"`
	Size int     `json:"size"` // bytes a message
	// bits a second a connection in tcpkali's bandwidth mode; else 0
	Bits float64 `json:"bits"`
	// connections held open beside the others, on which nothing was sent
	Idle int `json:"idle,omitempty"`
	// short connections a second beside the others: connect, send one message, close
	Churn  float64 `json:"churn,omitempty"`
	WorkUS int     `json:"work_us"`
	WaitMS int     `json:"wait_ms"`

	Requests Requests `json:"requests,omitzero"` // of loads of HTTP requests
	// of loads of members of rooms, who say Rate messages a second each
	Rooms Rooms `json:"rooms,omitzero"`

	// on a TCP/IP stack; Rate is that of each flow of pings
	Operation Operation `json:"operation,omitzero"`
}

// Machine is where the run took place.
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

// Subject is a server under test, as its subject.toml tells it.
type Subject struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	Version  string `json:"version,omitempty"` // of what it runs on, "OpenJDK 25.0.1"
	Paradigm string `json:"paradigm"`
	About    string `json:"about"`
	// where its work is not equal to the others', in a sentence
	Differs string `json:"differs,omitempty"`
	// of what a chat server has acknowledged, when it is killed
	Durability   string `json:"durability,omitempty"`
	Lines        int    `json:"lines"`
	Dependencies int    `json:"dependencies"`
	BinaryBytes  int64  `json:"binary_bytes"`
	Elsewhere    bool   `json:"elsewhere"` // not started by the lab: its CPU was not measured
	// elsewhere, but on this machine: no neighbour can be told from it
	Here bool `json:"here,omitempty"`
}

// Skip is a subject left out.
type Skip struct {
	Subject string `json:"subject"`
	Reason  string `json:"reason"`
}

// Note says that something which explains the trials could not be found out on this machine.
type Note struct {
	What    string `json:"what"`              // "system calls", "switch costs", "portability"
	Subject string `json:"subject,omitempty"` // when it is one subject's
	Why     string `json:"why"`
}

// Trial is one run of one subject under one load.
type Trial struct {
	ID          int    `json:"id"`      // 1 for the first
	Subject     string `json:"subject"` // the twin appears as NAME+twin
	Load        string `json:"load"`    // the name of a Plan.Loads entry
	Connections int    `json:"connections"`
	Pattern     string `json:"pattern"`
	// blocks are counted from 0 within a (load, connections, pattern) group
	Block    int       `json:"block"`
	Position int       `json:"position"` // 0 for the first place in the block
	Attempt  int       `json:"attempt"`  // 1 for the first try at this place
	Started  time.Time `json:"started"`

	// of one core, the subject's whole process tree
	CPUPercentMean float64 `json:"cpu_percent_mean"`
	// standard deviation / mean over windows of Plan.WindowMS; absent below two of them
	CPUCV           float64 `json:"cpu_cv,omitzero"`
	CPUUSPerMessage float64 `json:"cpu_us_per_message"` // subject
	LoadUSPerMsg    float64 `json:"load_us_per_message"`
	MachineUSPerMsg float64 `json:"machine_us_per_message"`
	ColdUSPerMsg    float64 `json:"cold_us_per_message"` // during the warm-up
	WarmMessages    int64   `json:"warm_messages"`       // messages before the measured window
	// the warm-up came to its limit before CPU per message was seen to be steady
	Unsteady bool `json:"unsteady,omitempty"`

	// sent in the measured window, those of short connections included
	Messages      int64   `json:"messages"`
	Bytes         int64   `json:"bytes"`
	OfferedRate   float64 `json:"offered_rate"` // messages a second, all connections
	AchievedRatio float64 `json:"achieved_ratio"`
	// messages that could not be sent at their time because the connection was full, or began late
	Behind     int64       `json:"behind"`
	LatenessUS Percentiles `json:"lateness_us"`
	GapUS      Percentiles `json:"gap_us"` // between messages of one connection
	// echo only; from the intended send time
	LatencyUS Percentiles `json:"latency_us,omitzero"`
	// together only; from a burst's first message to its last
	SpreadUS     Percentiles `json:"spread_us,omitzero"`
	Churn        *Churn      `json:"churn,omitempty"`      // loads with short connections
	HTTP         *HTTP       `json:"http,omitempty"`       // loads of requests
	Stack        *OnStack    `json:"stack,omitempty"`      // operations on TCP/IP stacks
	LoadRunQueue float64     `json:"load_run_queue_ratio"` // generator's run-queue wait / duration
	WindowS      float64     `json:"window_s"`             // the measured window's length

	Memory   Memory             `json:"memory"`
	Switches Switches           `json:"switches"`
	GC       *GC                `json:"gc,omitempty"`     // Go subjects
	Samples  []Sample           `json:"samples"`          // 20 a second over the measured window
	Rulers   map[string]float64 `json:"rulers,omitempty"` // ruler name to mean CPU in % of a core

	// the figures count: neither refused nor failed
	Accepted bool `json:"accepted"`
	// what spoiled the measurement; empty when accepted
	RefusedBecause []string `json:"refused_because"`
	// what the subject did wrong; not run again, and its figures may be missing
	FailedBecause []string `json:"failed_because,omitempty"`
	// what was wrong with the subject's end, after the window
	EndedBadly string `json:"ended_badly,omitempty"`
}

// Churn is what became of the short connections that were due in the measured window: connect, send
// one message, close.
type Churn struct {
	Offered int64 `json:"offered"`
	Done    int64 `json:"done"` // closed by both sides, and without an error
	// begun late, or never, because the server held up those before
	Behind     int64       `json:"behind"`
	DurationUS Percentiles `json:"duration_us"`
}

// Percentiles summarises a distribution.
type Percentiles struct {
	P01  float64 `json:"p01"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Sample is the subject's cumulative CPU at an instant of the measured window.
type Sample struct {
	AtMS  float64 `json:"at_ms"`
	CPUNS int64   `json:"cpu_ns"`
}

// Memory is taken over the whole process tree.
type Memory struct {
	PeakRSSKB int64 `json:"peak_rss_kb"` // shared pages counted once for each process
	PSSKB     int64 `json:"pss_kb"`      // shared pages divided among their users
	Processes int   `json:"processes"`
	Threads   int   `json:"threads"`
}

// Switches counts context switches in the measured window, whole tree.
type Switches struct {
	Voluntary   int64 `json:"voluntary"`
	Involuntary int64 `json:"involuntary"`
}

// GC is what the Go collector did in the measured window.
type GC struct {
	Cycles       int     `json:"cycles"`
	SharePercent float64 `json:"share_percent"` // of the subject's CPU
	MaxPauseUS   float64 `json:"max_pause_us"`
}

// Comparison says whether two subjects differ in one metric at one load.
type Comparison struct {
	A           string  `json:"a"`
	B           string  `json:"b"`
	Metric      string  `json:"metric"` // cpu_us_per_message, cpu_cv, requests_per_s
	Load        string  `json:"load"`
	Connections int     `json:"connections"`
	Pattern     string  `json:"pattern"`
	Ratio       float64 `json:"ratio"` // A / B
	// 95 % interval, not corrected; low and high are 0 when there is none
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// interval that the verdict rests on, corrected as p is; absent without one, and in older
	// results
	VerdictLow  float64 `json:"verdict_low,omitempty"`
	VerdictHigh float64 `json:"verdict_high,omitempty"`
	Pairs       int     `json:"pairs"`   // blocks in which both have accepted trials
	P           float64 `json:"p"`       // corrected over all comparisons in this metric
	Verdict     string  `json:"verdict"` // different, equivalent, undecided
	// B is A's secret twin: an honest lab does not say "different"
	Twin    bool   `json:"twin"`
	Warning string `json:"warning,omitempty"`
}

// Ruler is one way to account for CPU.
type Ruler struct {
	// "cgroup v1 cpuacct.usage", "sum of /proc/PID/stat", "top, first 18 rows"
	Name  string `json:"name"`
	About string `json:"about"` // what it counts and what it misses
	Truth bool   `json:"truth"` // the one that the figures use
}

// Reasons counts kernel events per message for a subject, in a trial whose CPU figures are not
// used.
type Reasons struct {
	Subject     string             `json:"subject"`
	Connections int                `json:"connections"`
	Pattern     string             `json:"pattern"`
	Tool        string             `json:"tool"`     // "tracepoints", "strace"
	Syscalls    float64            `json:"syscalls"` // per message
	ByName      map[string]float64 `json:"by_name"`  // per message, by system call
	// per message; -1 when the tool cannot see them
	Wakeups float64 `json:"wakeups"`
	// context switches per message; -1 when the tool cannot see them
	Switches float64 `json:"switches"`
	Messages int64   `json:"messages"` // seen in the trial
	Note     string  `json:"note,omitempty"`
}

// SwitchCost is what handing control over once costs.
type SwitchCost struct {
	// "processes", "threads", "goroutines", "channel", "coroutines"
	Between string  `json:"between"`
	NS      float64 `json:"ns"`   // median of the repetitions
	Low     float64 `json:"low"`  // fastest repetition
	High    float64 `json:"high"` // slowest repetition
	How     string  `json:"how"`  // how it was measured, in a phrase
}

// Portability is one C subject built one way and tried against the parts of the contract that move
// bytes and end processes; the other parts were not tried.
type Portability struct {
	Subject string `json:"subject"`
	// "gcc x86-64", "clang x86-64", "musl x86-64", "gcc 32-bit", "gcc arm64 (qemu-user)"
	Target string `json:"target"`
	Built  bool   `json:"built"`
	Passed bool   `json:"passed"`
	// why not, or which check failed; "not tested: ..." when neither was tried
	Note string `json:"note,omitempty"`
}

// Probe is one rate that was tried in the search for a subject's capacity.
type Probe struct {
	Subject        string  `json:"subject"`
	Load           string  `json:"load"`
	Connections    int     `json:"connections"`
	Pattern        string  `json:"pattern"`
	Rate           float64 `json:"rate"` // messages a second that were offered, all connections
	AchievedRatio  float64 `json:"achieved_ratio"`
	Behind         int64   `json:"behind"`           // messages that found their connection full
	LatenessP99US  float64 `json:"lateness_p99_us"`  // of the sends
	LatencyP99US   float64 `json:"latency_p99_us"`   // from the intended send to the echo
	CPUPercentMean float64 `json:"cpu_percent_mean"` // subject
	// of a core: the generator's CPU and its wait for one
	LoadPercent float64 `json:"load_percent"`
	KeptUp      bool    `json:"kept_up"`
	// not kept up, and it was the generator that gave out
	GeneratorBound bool `json:"generator_bound"`
	// trials; over 1 where one that was not kept up had been disturbed
	Attempts    int      `json:"attempts"`
	DisturbedBy []string `json:"disturbed_by,omitempty"`
}

// Bracket is the two probes between which a subject's capacity lies: the highest rate that it kept
// up with and the lowest that it did not. Either is zero where there is none.
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
	// messages a second, all connections: the highest rate kept up with
	CapacityRate float64 `json:"capacity_rate"`
	// the generator gave out first: capacity is at least this
	GeneratorBound bool    `json:"generator_bound"`
	SharePercent   float64 `json:"share_percent"` // 70, 85, 95
	// palindromic, counted from 0; each holds two places for every subject and share
	Round          int         `json:"round"`
	Position       int         `json:"position"` // place in the round, from 0
	Attempt        int         `json:"attempt"`  // 1 for the first try at this place
	Started        time.Time   `json:"started"`
	CPUPercentMean float64     `json:"cpu_percent_mean"`
	CPUCV          float64     `json:"cpu_cv"`
	LatencyUS      Percentiles `json:"latency_us"`  // from the intended send to the echo
	LatenessUS     Percentiles `json:"lateness_us"` // of the sends: a part of the latency
	AchievedRatio  float64     `json:"achieved_ratio"`
	Behind         int64       `json:"behind"`
	// of a core: the generator's CPU and its wait for one
	LoadPercent float64 `json:"load_percent"`
	// what the subject did wrong at this share; that is a finding, and counts
	FailedBecause  []string `json:"failed_because,omitempty"`
	Accepted       bool     `json:"accepted"`
	RefusedBecause []string `json:"refused_because"`
}
