package result

import (
	"math"
	"time"
)

// HTTP says whether the messages of the run were HTTP requests. A message of such a run is a
// response that came whole and right.
func (p Plan) HTTP() bool { return IsHTTP(p.Workload) }

// Unit is what a message of the run is called before people.
func (p Plan) Unit() string {
	switch {
	case p.HTTP():
		return "request"
	case p.Chat():
		return "delivery"
	case p.Stack():
		return "operation"
	}
	return "message"
}

// Units is the plural of Unit.
func (p Plan) Units() string {
	if p.Chat() {
		return "deliveries"
	}
	return p.Unit() + "s"
}

// IsHTTP says whether a workload is served to HTTP requests.
func IsHTTP(workload string) bool { return workload == "page" || workload == "files" }

// Requests is what a load of HTTP requests has beside the others' settings, for the generator and
// for the subject.
type Requests struct {
	Path        string `json:"path,omitempty"`
	NoKeepAlive bool   `json:"no_keep_alive,omitempty"` // a connection for each request
	// requests whose time is asked; windows end by time all the same
	Count int `json:"count,omitempty"`
	// milliseconds that every SleepEvery-th request sleeps in the subject
	SleepMS    int `json:"sleep_ms,omitempty"`
	SleepEvery int `json:"sleep_every,omitempty"`
	// components in the subject that pass everything through
	Filters int  `json:"filters,omitempty"`
	Gzip    bool `json:"gzip,omitempty"` // compressed by the subject
	// measured from the first request on, without a warm-up
	Cold bool `json:"cold,omitempty"`
	// of the load's windows, where that is not the plan's
	DurationS float64 `json:"duration_s,omitempty"`
}

// HTTP is what became of the requests of the measured window.
type HTTP struct {
	// requests that were due in it; in a closed loop, begun
	Attempted int64 `json:"attempted"`
	// of these, whole and right, be it after the window
	Answered int64 `json:"answered"`
	Failed   int64 `json:"failed"` // of these
	// of the trial's messages, as they were sent
	BodyBytes int64 `json:"body_bytes"`
	// mean of the times whose percentiles are Trial.LatencyUS; 0 in older results
	LatencyMeanUS float64 `json:"latency_mean_us,omitzero"`
	// requests of the whole trial that failed, by kind
	Errors map[string]int64 `json:"errors,omitempty"`
}

// Rate is the messages a second of the measured window.
func (t *Trial) Rate() float64 {
	if t.WindowS <= 0 {
		return 0
	}
	return float64(t.Messages) / t.WindowS
}

// Ceiling is how many requests a second a closed loop over so many connections can make of a
// subject at the very most, because of the sleeps alone: while a request sleeps its connection does
// nothing else. Infinite where none sleeps.
func (q Requests) Ceiling(connections int) float64 {
	if q.SleepEvery < 1 || q.SleepMS < 1 {
		return math.Inf(1)
	}
	return float64(connections) * float64(q.SleepEvery) * 1000 / float64(q.SleepMS)
}

// Floor is the shortest time in which a closed loop over so many connections can have Count
// requests answered: their sleeps, laid end to end on each connection. It is 0 where none sleeps,
// or no number of requests is set.
func (q Requests) Floor(connections int) time.Duration {
	if q.SleepEvery < 1 || connections < 1 {
		return 0
	}
	sleeps := q.Count / q.SleepEvery
	rounds := (sleeps + connections - 1) / connections
	return time.Duration(rounds) * time.Duration(q.SleepMS) * time.Millisecond
}
