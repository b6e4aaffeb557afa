package tcpip

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"weir/tcpip/tcp"
)

// ListenConfig has options for listening beyond those of Stack.Listen, which hold for the SYN,ACK
// of each connection already.
type ListenConfig struct {
	Stack *Stack
	// TOS octet of everything sent: see Conn.SetTOS and UDPConn.SetTOS. Default 0
	TOS uint8
	// limit of one client's connections that wait for Accept. Default: Config.Backlog
	Backlog int
	// FastOpen turns TCP Fast Open on (RFC 7413): a SYN with a cookie that the stack has granted
	// its sender carries data, and Accept returns the connection before the handshake is complete.
	// It limits how many such connections may be pending, as Linux's TCP_FASTOPEN; beyond it,
	// handshakes are ordinary ones. The network may duplicate a SYN: its data can arrive a second
	// time, by another connection. So it is only for protocols whose first bytes may be repeated,
	// such as TLS or idempotent requests (section 6.1). Default 0: off
	FastOpen int

	// KeepAlive, KeepAliveConfig and Configure are those of Dialer.
	KeepAlive       time.Duration
	KeepAliveConfig net.KeepAliveConfig
	Configure       func(*tcp.Config)
}

// Listen listens as Stack.Listen does. The context is that of name lookups, which listening does
// not need.
func (o *ListenConfig) Listen(_ context.Context, network, address string) (net.Listener, error) {
	l, err := o.listen(network, address, nil)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// ListenPacket opens a UDP socket as Stack.ListenPacket does.
func (o *ListenConfig) ListenPacket(_ context.Context, network, address string) (net.PacketConn, error) {
	c, err := o.Stack.ListenPacket(network, address)
	if err == nil {
		c.(*UDPConn).SetTOS(o.TOS)
	}
	return c, err
}

// listenerTCPConfig is the configuration of a listener's connections over an interface, by one
// version of IP.
type listenerTCPConfig struct {
	wanted tcp.Config // what the ListenConfig wants. MSS 0: that of the link
	inUse  atomic.Pointer[limitedTCPConfig]
}

// limitedTCPConfig is a configuration within the limits of an interface's.
type limitedTCPConfig struct{ base, limited *tcp.Config }

// configs returns the configurations of the connections of a listener: see Listener.configs.
func (o *ListenConfig) configs() []listenerTCPConfig {
	if o.Configure == nil && o.KeepAlive == 0 && !o.KeepAliveConfig.Enable {
		return nil
	}
	all := make([]listenerTCPConfig, 2*len(o.Stack.ifaces))
	for n := range all {
		base := o.Stack.ifaces[n/2].tcpConfig(unspecified[n%2])
		all[n].wanted = wantedTCPConfig(base, o.KeepAlive, o.KeepAliveConfig, o.Configure)
		if all[n].wanted.MSS == base.MSS {
			all[n].wanted.MSS = 0
		}
	}
	return all
}

// unspecified has an address of each version of IP.
var unspecified = [2]netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}

// tcpConfig returns the configuration of connections to an address over an interface.
func (l *Listener) tcpConfig(i *iface, remote netip.Addr) *tcp.Config {
	base := i.tcpConfig(remote)
	if l.configs == nil {
		return base
	}
	c := &l.configs[2*i.index]
	if !remote.Is4() {
		c = &l.configs[2*i.index+1]
	}
	now := c.inUse.Load()
	if now == nil || now.base != base { // the first connection, or since SetMTU
		now = &limitedTCPConfig{base, limitTCPConfig(c.wanted, base)}
		c.inUse.Store(now)
	}
	return now.limited
}

// tcpConfig returns the configuration of a connection to an address over an interface.
func (d *Dialer) tcpConfig(i *iface, remote netip.Addr) *tcp.Config {
	base := i.tcpConfig(remote)
	if d.Configure == nil && d.KeepAlive == 0 && !d.KeepAliveConfig.Enable {
		return base
	}
	return limitTCPConfig(wantedTCPConfig(base, d.KeepAlive, d.KeepAliveConfig, d.Configure), base)
}

// wantedTCPConfig returns a configuration of an interface with the changes of a Dialer or a
// ListenConfig.
func wantedTCPConfig(base *tcp.Config, keepAlive time.Duration, k net.KeepAliveConfig, change func(*tcp.Config)) tcp.Config {
	c := *base
	if k.Enable {
		setKeepAliveField(&c.KeepAliveIdle, k.Idle, keepIdle)
		setKeepAliveField(&c.KeepAliveInterval, k.Interval, keepInterval)
		setKeepAliveField(&c.KeepAliveCount, k.Count, keepCount)
		setDefault(&c.KeepAliveIdle, keepIdle) // it was off, and k has no Idle
	} else if keepAlive != 0 {
		c.KeepAliveIdle = max(0, keepAlive)
	}
	if change != nil {
		change(&c)
	}
	return c
}

// limitTCPConfig returns what a Dialer or a ListenConfig wants within the limits of an interface's
// configuration: the link limits segments, and the stack memory.
func limitTCPConfig(c tcp.Config, base *tcp.Config) *tcp.Config {
	if c.MSS <= 0 || c.MSS > base.MSS {
		c.MSS = base.MSS
	}
	c.KeepAliveIdle, c.Superframe = max(0, c.KeepAliveIdle), min(max(0, c.Superframe), base.Superframe)
	c.Memory, c.HeavyMemory = base.Memory, base.HeavyMemory
	c = c.WithDefaults()
	return &c
}
