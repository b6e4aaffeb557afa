package result

// Agent is a machine that offered a share of the load, or that measured a server beside it.
type Agent struct {
	Name    string `json:"name"`
	Version string `json:"version"` // of weir
	Cores   int    `json:"cores"`
	// it ran on the lab's machine, so it shared that machine's cores with the subjects
	SameMachine bool `json:"here,omitempty"`
	// the subject whose server it measured; empty: it offered load
	Beside string `json:"beside,omitempty"`
}

// AgentShare is what one agent did in a trial.
type AgentShare struct {
	Agent       string  `json:"agent"`
	Connections int     `json:"connections"`
	OfferedRate float64 `json:"offered_rate"` // messages per second
	Messages    int64   `json:"messages"`
	// messages before the measured window
	WarmMessages int64       `json:"warm_messages"`
	LatenessUS   Percentiles `json:"lateness_us"`
	// CPU of its generator, and its wait for a core, in percent of a core
	LoadPercent float64 `json:"load_percent"`
	// run-queue wait of its generator / duration
	RunQueueRatio float64 `json:"run_queue_ratio"`
	// the agent's clock minus the lab's before the window, and the largest error of that
	ClockOffsetUS float64 `json:"clock_offset_us"`
	ClockBoundUS  float64 `json:"clock_bound_us"`
	// from the agreed start of the window to the actual one
	StartedLateUS float64 `json:"started_late_us"`
}
