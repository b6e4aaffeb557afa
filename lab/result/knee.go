package result

import "time"

// Knee is the highest rate at which a subject kept a criterion of the latency, with less than 1 %
// failures and no growing backlog.
type Knee struct {
	Subject     string `json:"subject"`
	Load        string `json:"load"`
	Connections int    `json:"connections"`
	Pattern     string `json:"pattern"`
	Criterion   string `json:"criterion"` // "p99 < 10ms"
	// messages per second, all connections: the median of Estimates; 0: no rate kept the criterion
	Rate float64 `json:"rate"`
	// range of Estimates, which contains their median with 94 % if they are five
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// every search of Estimates found a rate, and there was time for all
	Confirmed bool `json:"confirmed"`
	// the generator cannot offer more: the knee is at least Low
	GeneratorBound bool      `json:"generator_bound"`
	Estimates      []float64 `json:"estimates"`     // the results of the searches
	Why            string    `json:"why,omitempty"` // why the search ended early
}

// KneeProbe is one rate of the search for a knee.
type KneeProbe struct {
	Subject     string `json:"subject"`
	Load        string `json:"load"`
	Connections int    `json:"connections"`
	Pattern     string `json:"pattern"`
	// offered messages per second, all connections; 0: a closed loop
	Rate     float64 `json:"rate"`
	Why      string  `json:"why,omitempty"` // why the subject did not keep up; empty: it did
	Attempts int     `json:"attempts"`      // more than one where others disturbed the trial
	// what disturbed the last attempt, if the subject did not keep up
	DisturbedBy []string  `json:"disturbed_by,omitempty"`
	Started     time.Time `json:"started"`

	OfferedRate     float64     `json:"offered_rate"` // as the generator reports it
	MessageRate     float64     `json:"message_rate"`
	Offered         int64       `json:"offered"`
	Messages        int64       `json:"messages"`
	Failed          int64       `json:"failed"`
	LatencyUS       Percentiles `json:"latency_us"`
	LatenessUS      Percentiles `json:"lateness_us"`
	CPUPercentMean  float64     `json:"cpu_percent_mean"`
	CPUUSPerMessage float64     `json:"cpu_us_per_message"`
	// the generator's CPU and its wait for a core, in percent of a core
	LoadPercent   float64  `json:"load_percent"`
	FailedBecause []string `json:"failed_because,omitempty"` // failures of the subject
}
