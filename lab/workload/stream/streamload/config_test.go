package streamload

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"weir/lab/load"
)

func TestInvalidConfigurationsAreRejected(t *testing.T) {
	good := Config{Target: "127.0.0.1:7000", Connections: 64, Rate: 125, Size: 1000, Duration: time.Second}
	if err := good.Check(false); err != nil {
		t.Fatalf("a valid configuration: got error %v, want none", err)
	}
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Target = "nowhere" }, `the target "nowhere" is not HOST:PORT`},
		{func(c *Config) { c.Target = "::1:80:" }, "is not HOST:PORT"},
		{func(c *Config) { c.Target = "127.0.0.1:0" }, "is not HOST:PORT"},
		{func(c *Config) { c.Connections = -1 }, "out of range"},
		{func(c *Config) { c.Connections = 50_000; c.Idle = 20_000 }, "together 0 to 60000"},
		{func(c *Config) { c.Connections = 0 }, "no churn: give at least one"},
		{func(c *Config) { c.Rate = 0 }, "a rate of 0 messages"},
		{func(c *Config) { c.Rate = math.NaN() }, "a rate of NaN messages"},
		{func(c *Config) { c.Rate = math.Inf(1) }, "a rate of +Inf messages"},
		{func(c *Config) { c.Rate = 1e6 }, "64000000 messages a second over all"},
		{func(c *Config) { c.Size = 0 }, "messages of 0 bytes"},
		{func(c *Config) { c.Size = 2 << 20 }, "messages of 2097152 bytes"},
		{func(c *Config) { c.Pattern = "even" }, `the pattern "even" is unknown`},
		{func(c *Config) { c.Duration = 0 }, "a duration of 0s"},
		{func(c *Config) { c.Duration = 48 * time.Hour }, "a duration of 48h0m0s"},
		{func(c *Config) { c.Churn = -1 }, "a churn of -1"},
		{func(c *Config) { c.CPUs = []int{-1} }, "the CPUs [-1]"},
		{func(c *Config) { c.Bits = 1e6 }, "exclude one another"},
		{func(c *Config) { c.Bits, c.Rate = 1, 0 }, "1 bits a second are out of range"},
		{func(c *Config) { c.Bits, c.Rate, c.Echo = 1e6, 0, true }, "the latency of echoes cannot be measured"},
		{func(c *Config) { c.Bits, c.Rate, c.Pattern = 1e6, 0, load.Poisson }, "no Poisson arrivals"},
	} {
		c := good
		test.change(&c)
		err := c.Check(false)
		if err == nil || !strings.Contains(err.Error(), test.want) || !errors.Is(err, load.ErrUsage) {
			t.Errorf("got %v, want a load.ErrUsage with %q", err, test.want)
		}
	}
}

func TestSteeredRunNeedsNoDuration(t *testing.T) {
	if err := (Config{Target: "[::1]:1", Idle: 1, Size: 1}).Check(true); err != nil {
		t.Error(err)
	}
}
