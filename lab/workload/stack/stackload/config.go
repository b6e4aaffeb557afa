package stackload

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"weir/lab/load"
)

// The operations.
const (
	Ping    = "ping"
	Connect = "connect"
	In      = "in"
	Out     = "out"
	RR      = "rr"
	Idle    = "idle"
)

// Operations lists all operations.
var Operations = []string{Ping, Connect, In, Out, RR, Idle}

// Limits and defaults of a Config.
const (
	MaxFlows          = 60_000  // identifiers of pings, which have 16 bits
	MaxRate           = 200_000 // pings per second
	MaxProcesses      = 5_000   //
	MinSize           = 16      // bytes of a ping's payload, which contains its number
	MaxSize           = 65_507  //
	DefaultSize       = 56      // as in ping
	DefaultFlowRate   = 10      // pings per second of each flow
	DefaultCongestion = "cubic"
)

// services maps operations to the ports of their services.
var services = map[string]int{Connect: 9, In: 9, Out: 19, RR: 7, Idle: 7}

// Config describes an operation. Run does not modify it.
type Config struct {
	Operation string // one of Operations
	Address   string // the stack's IP address
	Port      int    // 0: the port of the operation's service
	// clients of connect, connections of in, out, rr and idle, 1 to load.MaxConnections; ignored
	// for ping
	Connections int
	Congestion  string // congestion control of the sockets here; empty: DefaultCongestion
	Flows       int    // identifiers of ping; 0: 1
	// pings per second of all flows; 0: DefaultFlowRate for each flow, one for each process
	Rate     float64
	Size     int  // bytes of a ping's payload; 0: DefaultSize
	Together bool // all flows ping at the same instants, not evenly spaced
	// number of processes of the system's ping that send the pings; 0: this process sends them
	Processes int
	Duration  time.Duration // of the window; may be 0 if steered
	// of a connection attempt, an operation, a ping, and of no progress of bulk data; 0:
	// load.DefaultTimeout
	Timeout time.Duration
	// CPUs that all threads of this process are bound to; empty: not changed
	CPUs       []int
	Histograms bool // the report has the distributions as histograms, for load.Merge
}

// Check returns an error that Is load.ErrUsage if c is invalid. A Config that is steered needs no
// Duration.
func (c Config) Check(steered bool) error {
	connections := c.Connections
	if c.Operation == Ping {
		connections = 1
	}
	return load.Common{Connections: connections, Rate: c.Rate, MaxRate: MaxRate, Unit: "pings", Duration: c.Duration, Timeout: c.Timeout, CPUs: c.CPUs}.
		Check(!steered, c.checkWords(), c.checkPings())
}

func (c Config) checkWords() string {
	address, err := netip.ParseAddr(c.Address)
	switch {
	case !slices.Contains(Operations, c.Operation):
		return fmt.Sprintf("the operation %q is unknown: use ping, connect, in, out, rr or idle", c.Operation)
	case err != nil:
		return fmt.Sprintf("the address %q is no IP address: write one such as 10.77.0.2, and give the port by --port", c.Address)
	case c.Operation == Ping && !address.Unmap().Is4():
		return fmt.Sprintf("ping supports only IPv4, and %s is not: give an IPv4 address", c.Address)
	case c.Port < 0 || c.Port > 65535 || c.Port > 0 && c.Operation == Ping:
		return fmt.Sprintf("the port %d is invalid for %s: give a port from 1 to 65535, and none for ping", c.Port, c.Operation)
	case len(c.Congestion) > 15:
		return fmt.Sprintf("the congestion control %q is too long: give a name such as cubic, reno or bbr", c.Congestion)
	}
	return ""
}

func (c Config) checkPings() string {
	switch {
	case c.Operation != Ping && (c.Flows != 0 || c.Rate != 0 || c.Size != 0 || c.Together || c.Processes != 0):
		return fmt.Sprintf("flows, rate, size, together and processes apply only to ping: leave them out for %s", c.Operation)
	case c.Flows < 0 || c.Flows > MaxFlows:
		return fmt.Sprintf("%d flows are out of range: give 1 to %d", c.Flows, MaxFlows)
	case c.Processes < 0 || c.Processes > MaxProcesses:
		return fmt.Sprintf("%d processes are out of range: give 1 to %d, or none for one sender", c.Processes, MaxProcesses)
	case c.Processes > 0 && (c.Flows > 1 || c.Together):
		return "each process of the system's ping is a flow with its own timing: leave flows and together out"
	case c.Size != 0 && (c.Size < MinSize || c.Size > MaxSize):
		return fmt.Sprintf("a ping of %d bytes is out of range: give %d to %d", c.Size, MinSize, MaxSize)
	}
	return ""
}

// withDefaults returns c with the defaults of unset fields.
func (c Config) withDefaults() Config {
	c.Port, c.Timeout = cmp.Or(c.Port, services[c.Operation]), cmp.Or(c.Timeout, load.DefaultTimeout)
	if c.Operation != Ping {
		c.Congestion = cmp.Or(c.Congestion, DefaultCongestion)
		return c
	}
	c.Congestion, c.Connections = "", 0
	c.Flows, c.Size = cmp.Or(c.Flows, 1), cmp.Or(c.Size, DefaultSize)
	rate := DefaultFlowRate * float64(c.Flows)
	if c.Processes > 0 {
		rate = float64(c.Processes)
	}
	c.Rate = cmp.Or(c.Rate, rate)
	return c
}

// server returns ADDRESS:PORT, or for ping the address. The Config must have its defaults.
func (c Config) server() string {
	address, err := netip.ParseAddr(c.Address)
	if err != nil || c.Operation == Ping {
		return c.Address
	}
	n, _ := strconv.ParseUint(strconv.Itoa(c.Port), 10, 16)
	return netip.AddrPortFrom(address, uint16(n)).String()
}
