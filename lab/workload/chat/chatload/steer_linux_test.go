package chatload

import (
	"context"
	"io"
	"strings"
	"testing"

	"weir/lab/internal/rooms"
	"weir/lab/internal/steertest"
	"weir/lab/load"
)

func TestSteering(t *testing.T) {
	loads := map[string]steertest.Load{}
	for name, change := range map[string]func(*Config){
		"open loop":   func(*Config) {},
		"closed loop": func(c *Config) { c.Rate = 0 },
		"replay":      func(c *Config) { c.Rate, c.Replay, c.Members = 0, 300, 1 },
	} {
		c := slowConfig(serve(t, &rooms.Server{History: 100}))
		c.Duration = 0
		change(&c)
		run := 0
		l := steertest.Of(c, Run)
		l.Steer = func(ctx context.Context, in io.Reader, out io.Writer) error {
			run++ // the server may not have noticed the end of the last one's members
			c.Prefix = string(rune('a' + run))
			return load.Conduct(ctx, in, out, c, Run)
		}
		if l.Answers = true; c.Rate > 0 {
			l.Offered, l.Within = 80*7, 7 // 80 messages, depending on the position of the window
		}
		loads[name] = l
	}
	steertest.Conform(t, loads)
}

func TestInvalidConfigsAreRejectedInOneSentence(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"0 members are out of range":         func(c *Config) { c.Members = 0 },
		"9 rooms are out of range":           func(c *Config) { c.Rooms = 9 },
		"9 senders are out of range":         func(c *Config) { c.Senders = 9 },
		"-1 idle connections":                func(c *Config) { c.Idle = -1 },
		"a replay of -1 messages":            func(c *Config) { c.Replay = -1 },
		"a replay has no rate":               func(c *Config) { c.Replay = 5 },
		"a rate of -1 messages a second":     func(c *Config) { c.Rate = -1 },
		"a text of 5 bytes is out of range":  func(c *Config) { c.Size = 5 },
		"a timeout of 1ns":                   func(c *Config) { c.Timeout = 1 },
		"the CPUs [-1]":                      func(c *Config) { c.CPUs = []int{-1} },
		"contains a blank or an end of line": func(c *Config) { c.Pass = "a b" },
		`the prefix "W" is not`:              func(c *Config) { c.Prefix = "W" },
		"a duration of 0s is out of range":   func(c *Config) { c.Duration = 0 },
		`the target "nowhere" `:              func(c *Config) { c.Target = "nowhere" },
	} {
		c := slowConfig("127.0.0.1:1")
		change(&c)
		if err := c.Check(false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}
