package basic

import (
	"fmt"
	"net/http"

	"weir/web"
	"weir/web/components/internal/share"
)

// LimitConcurrencyConfig says how many exchanges may be behind [LimitConcurrency] at once.
type LimitConcurrencyConfig struct {
	// Max is how many, 1 or more. Half of these may be of one client's address, but for loopback.
	// Behind a load balancer, name its address in the server's trusted: otherwise all users are
	// that one client.
	Max int `hcl:"max"`

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// all places. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

// LimitConcurrency is a pipe behind which there are at most so many exchanges at once: others are
// answered by 503 with Retry-After. An exchange counts until its response is sent, or the client is
// gone. It is for what is dear while a response is sent (memory, upstreams); a component that
// blocks while it sets one up says so by its Traits. One client's address may have half of them,
// but for loopback. Answers that are there are left alone.
func LimitConcurrency(cfg LimitConcurrencyConfig) (web.Component, error) {
	if cfg.Max < 1 {
		return nil, fmt.Errorf("limit_concurrency: max is %d: write how many exchanges may be under way, 1 or more", cfg.Max)
	}
	limit := share.New(cfg.Max, cfg.OnOverLimit)
	leave := func(c *web.Conn) { limit.Leave(c.RemoteAddr()) }
	return named("limit_concurrency", web.Pipe(func(c *web.Conn) {
		if c.Answered() {
			return
		}
		if !limit.Enter(c.RemoteAddr()) {
			c.Reply(http.StatusServiceUnavailable)
			c.SetHeader("Retry-After", "1")
			return
		}
		c.After(leave)
	})), nil
}
