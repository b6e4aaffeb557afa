package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestAFailedLoadFailsTheSessionWithItsReason(t *testing.T) {
	c, server := listen(t, ListenConfig{}), newSink(t)
	serveAgent(t, c, "a")
	serveAgent(t, c, "b")
	waitFor(t, c, 2)
	l := server.streams(2)
	l.Shares[1].Args = []string{"stream", "--size", "-1", server.addr}
	s := start(t, c, l)
	wantFailure(t, s, `the load of "b" ended early: `, "size")
	if _, err := c.Start(t.Context(), l); err == nil || !strings.Contains(err.Error(), "another session is open") {
		t.Errorf("a second session: got error %v, want that another is open", err)
	}
	s.Close()
	for want, l := range map[string]Load{
		"2 of 3 agents are connected":          server.streams(3),
		"the load has no share":                {},
		"share 0 of the load":                  {Shares: []Share{{Args: []string{"serve", "."}}}},
		"no agent is beside the server theirs": {Shares: server.streams(1).Shares, Beside: []string{"theirs"}},
	} {
		if _, err := c.Start(t.Context(), l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want %q", l, err, want)
		}
	}
}

// TestAnEndedContextIsNoLostAgent: a run that a user ends would record it as a disturbance.
func TestAnEndedContextIsNoLostAgent(t *testing.T) {
	c := listen(t, ListenConfig{})
	serveAgent(t, c, "a")
	waitFor(t, c, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Start(ctx, newSink(t).streams(1))
	if _, lost := errors.AsType[*Disturbance](err); lost || !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v, want the end of the context", err)
	}
}
