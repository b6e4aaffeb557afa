package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// runChecks checks an upstream's health until ctx ends.
func (p *Proxy) runChecks(ctx context.Context, u *upstream) {
	tick := time.NewTicker(p.checkInterval)
	defer tick.Stop()
	for {
		why := p.check(ctx, u)
		if ctx.Err() != nil {
			return
		}
		p.pool.recordCheck(u, why)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// check requests the health path from an upstream.
func (p *Proxy) check(ctx context.Context, u *upstream) error {
	ctx, cancel := context.WithTimeout(ctx, p.checkInterval)
	defer cancel()
	at := *u.target
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath(p.HealthPath).String(), nil)
	if err != nil {
		return err
	}
	if p.Host != "upstream" {
		r.Host = p.Host
	}
	r.Header.Set("User-Agent", "weir")
	resp, err := u.transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("health check: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode < 200 || resp.StatusCode > 399 {
		return fmt.Errorf("health check: got status %s, want 200 to 399", resp.Status)
	}
	return nil
}
