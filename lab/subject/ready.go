package subject

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"
)

// dialTimeout bounds one attempt to connect. A refused connection fails at once; a lost packet
// would never be reported.
const dialTimeout = time.Second

// readiness returns a function that reports, without blocking for long, whether p is ready.
func (s *Subject) readiness(p *Process, params Params) func(context.Context) bool {
	switch {
	case len(p.watches) > 0:
		return func(context.Context) bool { return slices.ContainsFunc(p.watches, (*watch).hasSeen) }
	case s.Ready == "listen" && canSeeListeners:
		ip := net.ParseIP(params.Host)
		return func(context.Context) bool { return listening(p.PID(), ip, params.Port) }
	}
	return func(ctx context.Context) bool {
		d := net.Dialer{Timeout: dialTimeout}
		c, err := d.DialContext(ctx, "tcp", p.addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
}

// readySign describes what a subject does when it is ready.
func (s *Subject) readySign(addr string) string {
	if text, ok := strings.CutPrefix(s.Ready, "line:"); ok {
		return "print a line with \"" + strings.TrimSpace(text) + "\""
	}
	if s.Ready == "connect" {
		return "accept connections at " + addr
	}
	return "listen at " + addr
}
