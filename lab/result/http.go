package result

import (
	"math"
	"time"
)

// Requests holds the settings of a load that only HTTP requests and gRPC calls have, for the
// generator and for the subject.
type Requests struct {
	Path string `json:"path,omitempty"`
	// arrival pattern of a load with a rate; empty: evenly spaced
	Pattern     string `json:"pattern,omitempty"`
	NoKeepAlive bool   `json:"no_keep_alive,omitempty"` // a new connection for each request
	// requests for which the report computes the time; windows end by time nevertheless
	Count int `json:"count,omitempty"`
	// milliseconds that every SleepEvery-th request sleeps in the subject
	SleepMS    int `json:"sleep_ms,omitempty"`
	SleepEvery int `json:"sleep_every,omitempty"`
	// pass-through components in the subject
	Filters int  `json:"filters,omitempty"`
	Gzip    bool `json:"gzip,omitempty"` // the subject compresses the response
	TLS     bool `json:"tls,omitempty"`  // requests and responses are encrypted
	// no warm-up: the measured window starts with the first request
	Cold bool `json:"cold,omitempty"`
	// described requests: the first of them, and a digest of all; of gRPC calls the expected
	// status, and a digest; empty: a GET of Path
	Mix     string `json:"mix,omitempty"`
	HTTP2   bool   `json:"http2,omitempty"`   // instead of HTTP/1.1
	Streams int    `json:"streams,omitempty"` // requests at once on a connection of HTTP/2; 0: 1
	// length of the load's measured windows; 0: the plan's
	DurationS float64 `json:"duration_s,omitempty"`
}

// HTTP holds the outcomes of the requests of the measured window.
type HTTP struct {
	// requests that were due in the window; in a closed loop, requests started in it
	Attempted int64 `json:"attempted"`
	// attempted requests with a complete and correct response, even one after the window
	Answered int64 `json:"answered"`
	Failed   int64 `json:"failed"` // attempted requests without such a response
	// bytes of the bodies of the trial's messages, as transferred
	BodyBytes int64 `json:"body_bytes"`
	// mean of the latencies whose percentiles are Trial.LatencyUS; 0 in older results
	LatencyMeanUS float64 `json:"latency_mean_us,omitzero"`
	// requests that could be in flight at once on a connection of HTTP/2; 0: 1
	Streams int `json:"streams,omitempty"`
	// how the requests were encrypted, where the server chose it: "TLS 1.3, TLS_AES_128_GCM_SHA256"
	TLS string `json:"tls,omitempty"`
	// failed requests of the whole trial, warm-up included, by kind
	Errors map[string]int64 `json:"errors,omitempty"`
}

// Rate returns the messages per second of the measured window.
func (t *Trial) Rate() float64 {
	if t.WindowS <= 0 {
		return 0
	}
	return float64(t.Messages) / t.WindowS
}

// Ceiling returns the highest rate, in requests per second, that a closed loop over the given
// number of connections can reach. Only sleeps limit it: a connection whose request sleeps sends no
// other. Without sleeps it is infinite.
func (q Requests) Ceiling(connections int) float64 {
	if q.SleepEvery < 1 || q.SleepMS < 1 {
		return math.Inf(1)
	}
	return float64(connections) * float64(q.SleepEvery) * 1000 / float64(q.SleepMS)
}

// Floor returns the shortest time in which Count requests can be answered in a closed loop over the
// given number of connections: the sleeps of one connection, end to end. It is 0 without sleeps or
// without a Count.
func (q Requests) Floor(connections int) time.Duration {
	if q.SleepEvery < 1 || connections < 1 {
		return 0
	}
	sleeps := q.Count / q.SleepEvery
	rounds := (sleeps + connections - 1) / connections
	return time.Duration(rounds) * time.Duration(q.SleepMS) * time.Millisecond
}
