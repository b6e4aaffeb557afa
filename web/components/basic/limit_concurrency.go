package basic

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"weir/web"
)

// LimitConcurrencyConfig says how many exchanges may be behind [LimitConcurrency] at once.
type LimitConcurrencyConfig struct {
	Max int `hcl:"max"` // 1 or more
}

// LimitConcurrency is a pipe behind which there are at most so many exchanges at once: others are answered by 503 with Retry-After. An exchange counts
// until its response is sent, or the client is gone. It is for what is dear while a response is sent (memory, upstreams); a component that blocks
// while it sets one up says so by its Traits. Answers that are there are left alone.
func LimitConcurrency(cfg LimitConcurrencyConfig) (web.Component, error) {
	if cfg.Max < 1 {
		return nil, fmt.Errorf("limit_concurrency: max is %d: write how many exchanges may be under way, 1 or more", cfg.Max)
	}
	most := int64(cfg.Max)
	var taken atomic.Int64
	leave := func(*web.Conn) { taken.Add(-1) }
	return named("limit_concurrency", web.Pipe(func(c *web.Conn) {
		if c.Answered() {
			return
		}
		if taken.Add(1) > most {
			taken.Add(-1)
			c.Reply(http.StatusServiceUnavailable)
			c.SetHeader("Retry-After", "1")
			return
		}
		c.After(leave)
	})), nil
}
