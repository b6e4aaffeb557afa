package chatload

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"weir/lab/internal/oneloop"
	"weir/lab/internal/rooms"
	"weir/lab/load"
)

// slowConfig returns a load that waits for deliveries as long as a slow machine needs.
func slowConfig(addr string) Config {
	return Config{Target: addr, Members: 8, Rooms: 1, Size: 60, Rate: 400, Duration: 200 * time.Millisecond, Timeout: time.Minute}
}

func TestEveryDeliveryIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		echo   bool
		change func(*Config)
		fan    int64 // deliveries per message
	}{
		"one room":                     {false, func(*Config) {}, 7},
		"three rooms":                  {false, func(c *Config) { c.Members, c.Rooms = 9, 3 }, 2},
		"uneven rooms, few who talk":   {false, func(c *Config) { c.Members, c.Rooms, c.Senders = 8, 3, 1 }, 2},
		"with echoes":                  {true, func(c *Config) { c.Caps = []string{"echo-message", "server-time", "nothing-known"} }, 8},
		"without the echoes there are": {true, func(*Config) {}, 7},
		"idle ones":                    {false, func(c *Config) { c.Idle = 40 }, 7},
		"one who listens to itself":    {true, func(c *Config) { c.Members, c.Caps = 1, []string{"echo-message"} }, 1},
		"short texts":                  {false, func(c *Config) { c.Size = MinSize }, 7},
	} {
		t.Run(name, func(t *testing.T) {
			config := slowConfig(serve(t, &rooms.Server{Echo: c.echo}))
			c.change(&config)
			r, err := Run(t.Context(), config, load.Events{})
			if err != nil || len(r.Errors) > 0 {
				t.Fatalf("got error %v, errors %v, want none: %q", err, r.Errors, r.Details)
			}
			if r.Offered != 80*c.fan || r.Answered != r.Offered || r.Missing != 0 || r.Messages > r.Offered || r.LatencyUS.P50 <= 0 {
				t.Errorf("want 80 messages to %d each, got %+v", c.fan, r)
			}
		})
	}
}

func TestClosedLoopContinuesAfterDeliveryToAll(t *testing.T) {
	for name, echo := range map[string]bool{"with echoes": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			config := slowConfig(serve(t, &rooms.Server{Echo: echo}))
			config.Rate, config.Caps = 0, []string{"echo-message"}
			r, err := Run(t.Context(), config, load.Events{})
			if err != nil || len(r.Errors) > 0 || r.Messages == 0 || r.Missing != 0 || r.Offered != r.Messages || r.AchievedRatio != 1 {
				t.Errorf("got error %v, %+v; want all messages delivered to all without an error", err, r)
			}
		})
	}
}

func TestFaultsAreFound(t *testing.T) {
	for fault, kind := range map[string]string{
		"loses": kindLost, "doubles": kindRepeated, "swaps": kindRepeated, "changes text": kindWrong, "wrong nick": kindWrong, "wrong room": kindWrong,
		"hangs up": oneloop.KindClosed,
	} {
		t.Run(fault, func(t *testing.T) {
			config := slowConfig(serve(t, &rooms.Server{Fault: fault}))
			config.Timeout = 300 * time.Millisecond
			r, err := Run(t.Context(), config, load.Events{})
			lost := errors.Is(err, oneloop.ErrAllLost) && kind == oneloop.KindClosed
			if err != nil && !lost || r.Errors[kind] == 0 || !strings.Contains(r.Trouble(), kind) || len(r.Details) == 0 {
				t.Errorf("error %v: want errors of the kind %s, got %v: %q", err, kind, r.Errors, r.Details)
			}
		})
	}
}

func TestFailedJoinIsReported(t *testing.T) {
	for fault, want := range map[string]string{"": "the server replied 433", "no names": "no member could join"} {
		t.Run(fault, func(t *testing.T) {
			addr := serve(t, &rooms.Server{Fault: fault})
			config := slowConfig(addr)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if fault == "" { // the nick is in use
				events := load.Events{Connected: func(int64) {
					_, err := Run(t.Context(), config, load.Events{})
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("got error %v, want %q", err, want)
					}
					cancel()
				}}
				Run(ctx, config, events) //nolint:errcheck // it is cancelled
				return
			}
			time.AfterFunc(100*time.Millisecond, cancel)
			if _, err := Run(ctx, config, load.Events{}); !errors.Is(err, context.Canceled) {
				t.Errorf("got error %v, want context.Canceled", err)
			}
		})
	}
}

func TestAcknowledgedMessagesAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		server *rooms.Server
		how    string
	}{
		"by echo": {&rooms.Server{Echo: true}, "echo"},
		"by pong": {&rooms.Server{}, "pong"},
	} {
		t.Run(name, func(t *testing.T) {
			config := slowConfig(serve(t, c.server))
			config.Acks, config.Caps = true, []string{"echo-message"}
			r, err := Run(t.Context(), config, load.Events{})
			if err != nil || len(r.Acknowledged) != 8 {
				t.Fatalf("got error %v, %+v; want the acknowledged messages of 8 members", err, r.Acknowledged)
			}
			for _, a := range r.Acknowledged {
				if a.How != c.how || a.Messages == 0 || a.Messages > a.Sent || len(a.Mark) != 8 || a.How == "echo" && a.Messages != a.Sent {
					t.Errorf("got %+v, want messages acknowledged by %s, at most as many as were sent (by echo all), and a mark of 8 bytes", a, c.how)
				}
			}
		})
	}
}

func TestHistoryIsReplayed(t *testing.T) {
	for name, c := range map[string]struct {
		server *rooms.Server
		how    string
	}{
		"in pages":    {&rooms.Server{History: 100}, "chathistory"},
		"in one page": {&rooms.Server{History: 5000}, "chathistory"},
		"on joining":  {&rooms.Server{Replay: true}, "on joining"},
	} {
		t.Run(name, func(t *testing.T) {
			config := slowConfig(serve(t, c.server))
			config.Members, config.Rate, config.Replay = 1, 0, 950
			r, err := Run(t.Context(), config, load.Events{})
			if err != nil || len(r.Errors) > 0 || r.History != c.how || r.Messages == 0 {
				t.Errorf("got error %v, %+v; want messages replayed by %s without an error", err, r, c.how)
			}
		})
	}
	config := slowConfig(serve(t, &rooms.Server{}))
	config.Members, config.Rate, config.Replay = 1, 0, 950
	if _, err := Run(t.Context(), config, load.Events{}); err == nil || !strings.Contains(err.Error(), "0 messages of a history of 950") {
		t.Errorf("a server without history: got error %v, want one that says how many of 950 messages it has", err)
	}
}
