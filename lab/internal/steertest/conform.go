package steertest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"weir/lab/load"
)

// Load is a load whose steering is tested. Its server answers everything.
type Load struct {
	Steer func(ctx context.Context, in io.Reader, out io.Writer) error // load.Conduct of it
	// progress to wait for before the window
	Warm int64
	// messages that are due in a window of 200 ms, and by how many they may differ; 0: not checked
	Offered, Within int64
	Answers         bool // every offered message is answered
	NoWarm          bool // messages before the window are not counted
}

// Of returns the load of a configuration of a generator.
func Of[C, R any](c C, run func(context.Context, C, load.Events) (R, error)) Load {
	return Load{Warm: 20, Steer: func(ctx context.Context, in io.Reader, out io.Writer) error {
		return load.Conduct(ctx, in, out, c, run)
	}}
}

// Conform checks that loads keep the protocol of load.Conduct.
func Conform(t *testing.T, loads map[string]Load) {
	t.Helper()
	for name, l := range loads {
		t.Run(name, func(t *testing.T) {
			t.Run("measures its window", l.measures)
			t.Run("stops", l.stops)
			t.Run("cuts a window short", l.cutsShort)
			t.Run("measures when the commands end", l.measuresToTheEnd)
			t.Run("rejects unknown commands", l.rejects)
			t.Run("ends with its context", l.isCancelled)
		})
	}
}

// begin starts the load and reads its events until it sends.
func (l Load) begin(t *testing.T) (c *Conversation[load.Report], connected, sending int64) {
	c = Begin[load.Report](t, l.Steer)
	return c, c.Hear("connected").AtNS, c.Hear("sending").AtNS
}

func (l Load) measures(t *testing.T) {
	c, connected, sending := l.begin(t)
	for c.Hear("progress").Sent < l.Warm {
	}
	c.Say("measure 200ms")
	measuring, measured := c.Hear("measuring").AtNS, c.Hear("measured").AtNS
	c.Say("stop")
	r := c.Hear("report").Report
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	if connected > sending || sending > measuring || measured-measuring != 200e6 {
		t.Errorf("got connected %d, sending %d, measuring %d, measured %d; want this order and a window of 200 ms", connected, sending, measuring, measured)
	}
	if r.StartedNS != measuring || r.WindowNS != 200e6 || !l.NoWarm && r.WarmMessages < l.Warm || len(r.Errors) != 0 || r.Interrupt || r.CPUNS <= 0 {
		t.Errorf("got %+v, want the window of 200 ms after %d messages or more for warm-up, without an error", r, l.Warm)
	}
	if l.Offered > 0 && (r.Offered < l.Offered-l.Within || r.Offered > l.Offered+l.Within) || l.Answers && r.Answered != r.Offered {
		t.Errorf("got %d messages offered, %d answered in %+v; want %d offered, and all of them answered: %t", r.Offered, r.Answered, r, l.Offered, l.Answers)
	}
}

func (l Load) stops(t *testing.T) {
	for name, order := range map[string]func(io.WriteCloser){
		"by stop":            func(in io.WriteCloser) { io.WriteString(in, "stop\n") }, //nolint:errcheck // the end tells
		"by the input's end": func(in io.WriteCloser) { in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := l.begin(t)
			go order(c.In) // the load can be writing its progress at the same time
			if r := c.Hear("report").Report; !r.Interrupt || r.WindowNS != 0 {
				t.Errorf("got %+v, want a report without a window", r)
			}
			if err := c.End(); err != nil {
				t.Error(err)
			}
		})
	}
}

func (l Load) cutsShort(t *testing.T) {
	c, _, _ := l.begin(t)
	c.Say("measure 1h")
	c.Hear("measuring")
	c.Say("stop")
	measured := c.Hear("measured")
	if r := c.Hear("report").Report; !r.Interrupt || r.WindowNS >= int64(time.Hour) || r.StartedNS+r.WindowNS != measured.AtNS {
		t.Errorf("got %+v measured at %d, want a window that was cut short", r, measured.AtNS)
	}
	if err := c.End(); err != nil {
		t.Error(err)
	}
}

func (l Load) measuresToTheEnd(t *testing.T) {
	c, _, _ := l.begin(t)
	c.Say("measure 50ms")
	c.In.Close()
	c.Hear("measuring")
	c.Hear("measured")
	if r := c.Hear("report").Report; r.Interrupt || r.WindowNS != 50e6 {
		t.Errorf("got %+v, want a window of 50 ms", r)
	}
	if err := c.End(); err != nil {
		t.Error(err)
	}
}

func (l Load) rejects(t *testing.T) {
	c, _, _ := l.begin(t)
	go io.WriteString(c.In, "faster\n") //nolint:errcheck // the end tells
	for _, h := range c.Rest() {
		if h.Event != "progress" {
			t.Errorf("got the event %+v, want progress only", h)
		}
	}
	if err := c.End(); !errors.Is(err, load.ErrUsage) || !strings.Contains(err.Error(), `"faster" is unknown: write measure DURATION or stop`) {
		t.Errorf("an unknown command: got error %v, want load.ErrUsage with the commands", err)
	}
}

func (l Load) isCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	steer := l.Steer
	l.Steer = func(_ context.Context, in io.Reader, out io.Writer) error { return steer(ctx, in, out) }
	c, _, _ := l.begin(t)
	cancel()
	c.Rest()
	if err := c.End(); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled", err)
	}
}
