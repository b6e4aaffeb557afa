package subject

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"
)

// dialWithin bounds one attempt to connect; a refusal comes at once, a lost packet never.
const dialWithin = time.Second

// readiness returns how to look, without waiting longer than a moment, whether p is ready.
func (s *Subject) readiness(p *Process, params Params) func(context.Context) bool {
	switch {
	case len(p.awaited) > 0:
		return func(context.Context) bool { return slices.ContainsFunc(p.awaited, (*watch).hasSeen) }
	case s.Ready == "listen" && canSeeListeners:
		ip := net.ParseIP(params.Host)
		return func(context.Context) bool { return listening(p.PID(), ip, params.Port) }
	}
	return func(ctx context.Context) bool {
		d := net.Dialer{Timeout: dialWithin}
		c, err := d.DialContext(ctx, "tcp", p.addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
}

// promise says what a subject does when it is ready.
func (s *Subject) promise(addr string) string {
	if text, ok := strings.CutPrefix(s.Ready, "line:"); ok {
		return "print a line with \"" + strings.TrimSpace(text) + "\""
	}
	if s.Ready == "connect" {
		return "accept connections at " + addr
	}
	return "listen at " + addr
}
