package stackload

import (
	"errors"
	"strings"
	"testing"
	"time"

	"weir/lab/load"
)

func TestCheckRejectsInvalidConfigs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no operation":        {func(c *Config) { c.Operation = "flood" }, `operation "flood" is unknown`},
		"a name":              {func(c *Config) { c.Address = "localhost" }, "no IP address"},
		"an address and port": {func(c *Config) { c.Address = "127.0.0.1:7" }, "no IP address"},
		"ping of IPv6":        {func(c *Config) { c.Operation, c.Address = Ping, "::1" }, "only IPv4"},
		"ping with a port":    {func(c *Config) { c.Operation, c.Port = Ping, 7 }, "none for ping"},
		"port":                {func(c *Config) { c.Port = 65536 }, "from 1 to 65535"},
		"congestion":          {func(c *Config) { c.Congestion = "sixteen-letters-" }, "too long"},
		"no connections":      {func(c *Config) { c.Connections = 0 }, "0 connections"},
		"many connections":    {func(c *Config) { c.Connections = 60_001 }, "60001 connections"},
		"timeout":             {func(c *Config) { c.Timeout = time.Hour }, "a timeout of 1h0m0s"},
		"cpus":                {func(c *Config) { c.CPUs = []int{-1} }, "the CPUs [-1]"},
		"flows of rr":         {func(c *Config) { c.Flows = 2 }, "apply only to ping"},
		"flows":               {func(c *Config) { c.Operation, c.Flows = Ping, 60_001 }, "60001 flows"},
		"processes":           {func(c *Config) { c.Operation, c.Processes = Ping, -1 }, "-1 processes"},
		"flows and processes": {func(c *Config) { c.Operation, c.Processes, c.Flows = Ping, 2, 2 }, "leave flows and together out"},
		"rate":                {func(c *Config) { c.Operation, c.Rate = Ping, 1e6 }, "a rate of 1e+06"},
		"size":                {func(c *Config) { c.Operation, c.Size = Ping, 8 }, "a ping of 8 bytes"},
		"no duration":         {func(c *Config) { c.Duration = 0 }, "a duration of 0s"},
	} {
		good := Config{Operation: RR, Address: "127.0.0.1", Connections: 1, Duration: time.Second}
		c.change(&good)
		if err := good.Check(false); !errors.Is(err, load.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestDefaultsAreFilledIn(t *testing.T) {
	for operation, want := range map[string]string{Connect: "10.0.0.1:9", In: "10.0.0.1:9", Out: "10.0.0.1:19", RR: "10.0.0.1:7", Idle: "10.0.0.1:7", Ping: "10.0.0.1"} {
		c := Config{Operation: operation, Address: "10.0.0.1", Connections: 1}
		if err := c.Check(true); err != nil {
			t.Error(err)
		}
		if d := c.withDefaults(); d.server() != want || d.Timeout != load.DefaultTimeout || (d.Congestion == "cubic") != (operation != Ping) {
			t.Errorf("%s: got %+v at %s, want %s", operation, d, d.server(), want)
		}
	}
	if d := (Config{Operation: Ping, Flows: 100}).withDefaults(); d.Rate != 1000 || d.Size != 56 {
		t.Errorf("100 flows: got %+v, want 1,000 pings/s of 56 bytes", d)
	}
	if d := (Config{Operation: Ping, Processes: 30}).withDefaults(); d.Rate != 30 {
		t.Errorf("30 processes: got %+v, want 30 pings/s", d)
	}
}
