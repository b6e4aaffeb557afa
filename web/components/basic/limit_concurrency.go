package basic

import (
	"fmt"
	"net/http"

	"weir/web"
	"weir/web/components/internal/share"
)

// LimitConcurrencyConfig sets how many exchanges may be in progress behind [LimitConcurrency].
type LimitConcurrencyConfig struct {
	// Max is the number of exchanges, 1 or more. One client's address may have half of them, except
	// loopback. Behind a load balancer, put its address into the server's trusted: otherwise all
	// users count as one client.
	Max int `hcl:"max"`

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// all places. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

// LimitConcurrency is a pipe that limits the exchanges behind it. Further ones are answered by 503
// with Retry-After. An exchange counts until its response is sent or its client has disconnected.
//
// Use it for resources that are needed while a response is sent, such as memory or upstreams. A
// component that blocks while it sets up a response is limited by its [web.Traits] instead. One
// client's address may have half of the places, except loopback. Exchanges that have an answer are
// not limited.
func LimitConcurrency(cfg LimitConcurrencyConfig) (web.Component, error) {
	if cfg.Max < 1 {
		return nil, fmt.Errorf("limit_concurrency: max is %d: write how many exchanges may be under way, 1 or more", cfg.Max)
	}
	limit := share.New(cfg.Max, cfg.OnOverLimit)
	leave := func(c *web.Conn) { limit.Leave(c.RemoteAddr()) }
	limiter := web.Pipe(func(c *web.Conn) {
		if c.Answered() {
			return
		}
		if !limit.Enter(c.RemoteAddr()) {
			c.Reply(http.StatusServiceUnavailable)
			c.SetHeader("Retry-After", "1")
			return
		}
		c.After(leave)
	})
	return web.WithTraits(limiter, web.Traits{Name: "limit_concurrency", InProcess: "exchanges of clients"}), nil
}
