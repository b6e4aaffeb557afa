package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"weir/internal/listening"
	"weir/tcpip"
	"weir/tcpip/host"
)

type stackUpCmd struct {
	Tap     string   `default:"weir0" placeholder:"NAME" help:"The TAP device (${default})."`
	Addr    []string `required:"" placeholder:"CIDR" help:"The host's address on the device, with its prefix length: 10.0.0.2/24 or fd00::2/64; or dhcp; or auto. May be repeated."`
	Gateway []string `placeholder:"ADDR" help:"Default gateway. May be repeated: one for each version of IP on each link; of the form fe80::1%weir1 if it is link-local."`
	Route   []string `placeholder:"CIDR=VIA" help:"A route: a network, and a router or the name of a link. May be repeated."`
	DNS     []string `name:"dns" placeholder:"ADDR" help:"A name server, with or without a port. May be repeated."`
	MTU     int      `name:"mtu" placeholder:"N" help:"MTU in bytes (default: the device's, or 1500)."`
	Metric  int      `placeholder:"N" help:"Metric of the device's routes (0): of routes to the same network the lowest is used."`
	Link    []string `sep:"none" placeholder:"NAME,SETTING,..." help:"A further device. Settings: addr=CIDR, also dhcp or auto; peer=CIDR; mtu=N; metric=N; bridge=IF; tun for a TUN device. addr and peer may be repeated, and so may --link."`
	Offload string   `enum:"on,off" default:"on" placeholder:"on|off" help:"Segmentation, merging and checksum offload, if the device supports them (on)."`
	Queues  int      `default:"1" placeholder:"N" help:"Queues of each device, each with its own reader goroutine (1)."`
	Way     string   `name:"run" enum:"chain,network" default:"chain" placeholder:"chain|network" help:"Concurrency model of the layers: chain (calls) or network (a goroutine per layer)."`
	Pcap    string   `name:"pcap" placeholder:"[LINK:]FILE" help:"Capture every frame, or those of one link, into a new pcapng file, for Wireshark and tcpdump."`

	Setup     bool     `help:"Create the devices and this machine's addresses on them, and remove them at the end. Needs root."`
	Namespace string   `placeholder:"NS" help:"Network namespace of the devices; with --setup it is created if it does not exist."`
	Peer      []string `placeholder:"CIDR" help:"With --setup: this machine's address on the device (default: the first other address of each network). May be repeated."`
	Bridge    string   `placeholder:"IF" help:"With --setup: bridge the device to this interface, so that other machines reach the host."`

	Temporary bool     `help:"With an address of dhcp or auto: temporary IPv6 addresses for connections of the host, a new one each day (RFC 8981)."`
	Probe     bool     `help:"Probe for an address conflict first (RFC 5227, some seconds), and exit if there is one."`
	Metrics   string   `placeholder:"HOST:PORT" help:"Address of /metrics for Prometheus, on this machine."`
	Impair    []string `sep:"none" placeholder:"[LINK:]SPEC" help:"Impairment of both directions of all links, or of one, as for weir stack impair: loss=1%,delay=20ms. May be repeated."`
	Service   []string `sep:"none" placeholder:"NAME=PORT" help:"Service of a port: echo=7, discard=9, source=19 or files=80:DIR. May be repeated."`
	JSON      bool     `name:"json" help:"Write the status of the host as JSON once it is up."`
}

// Help is the long part of the command's help.
func (c *stackUpCmd) Help() string {
	return `The host runs until Ctrl-C or SIGTERM. It answers pings and runs its services; the other weir stack commands use it from the shell. Of the services, echo returns what it receives, discard reads everything, source sends without end, and files=PORT:DIR serves a folder over HTTP.

On Linux the process drops its effective capabilities once the host is up: root can then read root's own files and those that every user may read. A device that --setup created ends with the process. To remove a bridge or a namespace of --setup, or to restore the settings of a device, the process keeps CAP_NET_ADMIN permitted, and with --namespace CAP_SYS_ADMIN.

--setup is undone at the end, also after errors. After a kill, remove a bridge by ip link del br-weir0.

With --addr dhcp the host leases an IPv4 address, its default route, name servers and MTU from the DHCP server of the network, reports when it gets or loses it, and gives the address back at the end. It gets IPv6 addresses from the network's routers, and name servers by DHCPv6 if they say so; --addr auto is this part alone. Servers of --dns precede what is learned.

With --link the host has several links, each with addresses of its own: it accepts packets for an address by its link only, and sends packets from it by that link only. So a host that answers remote clients on two links needs a --gateway on each. A route by a link of a lower metric is used first. The host is known by its first link, that of --tap.

Without root, on a device that was created for you:

  sudo ip tuntap add weir0 mode tap user ann
  sudo ip addr add 10.0.0.1/24 dev weir0
  sudo ip link set weir0 up
  weir stack up --addr 10.0.0.2/24

Examples:

  sudo weir stack up --addr 10.0.0.2/24 --setup --service files=80:www
  sudo weir stack up --addr 10.0.0.2/24 --setup --namespace lab --service echo=7 --pcap lab.pcapng
  sudo weir stack up --addr 10.0.0.2/24 --addr fd00::2/64 --setup --service echo=7
  sudo weir stack up --addr dhcp --setup --bridge eth1 --service files=80:www
  sudo weir stack up --addr 10.0.0.2/24 --gateway 10.0.0.1 --link weir1,addr=10.1.0.2/24,metric=100 --gateway 10.1.0.1 --setup --service echo=7
  sudo weir stack up --addr 192.168.1.77/24 --probe --setup --bridge eth1 --gateway 192.168.1.1 --dns 192.168.1.1`
}

// config returns the configuration of the host from the flags.
func (c *stackUpCmd) config(t *terminal) (host.Config, error) {
	h := host.Config{Namespace: c.Namespace, Queues: c.Queues, Plain: c.Offload == "off", Run: tcpip.Run(c.Way), ProbeAddr: c.Probe, OnConflict: t.conflict, Setup: c.Setup,
		Control: filepath.Join(controlFolders()[0], host.SocketName(c.Tap, c.Namespace))}
	var err error
	if h.Links, err = c.links(); err != nil {
		return h, err
	}
	h.OnDHCP = t.dhcp(len(h.Links) > 1)
	if h.Gateways, err = c.gateways(); err != nil {
		return h, err
	}
	if h.Routes, err = c.routes(); err != nil {
		return h, err
	}
	for _, d := range c.DNS {
		server, err := nameServer(d)
		if err != nil {
			return h, err
		}
		h.DNS = append(h.DNS, server)
	}
	if err := setImpairments(h.Links, c.Impair); err != nil {
		return h, err
	}
	h.Capture, h.CaptureLink = captureOf(c.Pcap, h.Links)
	if c.Metrics != "" {
		if err := listening.Check(c.Metrics); err != nil {
			return h, fmt.Errorf("--metrics: %w", err)
		}
	}
	h.Services, err = stackServices(c.Service, t)
	return h, err
}

// prefixes parses addresses with their prefix lengths.
func prefixes(flag string, texts []string) (all []netip.Prefix, err error) {
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s is %q: write an address with its prefix length, such as 10.0.0.2/24 or fd00::2/64", flag, text)}
		}
		all = append(all, p)
	}
	return all, nil
}

// nameServer parses the address of a name server, with or without a port.
func nameServer(text string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(a, 53), nil
	}
	a, err := netip.ParseAddrPort(text)
	if err != nil {
		return a, usageError{fmt.Errorf("--dns is %q: write an address, such as 10.0.0.1, 10.0.0.1:53 or [fd00::1]:53", text)}
	}
	return a, nil
}

// Run implements the command.
func (c *stackUpCmd) Run(ctx context.Context, t *terminal) (err error) {
	config, err := c.config(t)
	if err != nil {
		return err
	}
	if c.Probe {
		t.probing(config.Links)
	}
	h, err := startHost(ctx, config)
	if err != nil {
		return err
	}
	metrics, err := watchHost(ctx, c.Metrics, h, t)
	if err == nil {
		err = h.DropPrivileges()
	}
	if err != nil {
		return errors.Join(err, h.Close())
	}
	if c.JSON {
		err = t.json(h.Status(0))
	} else {
		t.hostIsUp(h, &config)
	}
	return errors.Join(err, runHost(ctx, h, metrics))
}

// startHost starts a host. An error of permissions says what to do.
func startHost(ctx context.Context, c host.Config) (*host.Host, error) {
	if err := os.MkdirAll(filepath.Dir(c.Control), 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the folder of the control socket: %w: set XDG_RUNTIME_DIR to a folder of yours, or use sudo", err)
	}
	h, err := host.Start(ctx, c)
	switch {
	case errors.Is(err, host.ErrNoDevice):
		return nil, fmt.Errorf("%w (--setup)", err)
	case errors.Is(err, fs.ErrPermission) && c.Setup:
		return nil, fmt.Errorf("%w; --setup needs root: use sudo", err)
	}
	return h, err
}

// runHost runs a host and the function beside it until ctx ends, then stops both. It takes a few
// seconds at most, so that a second signal has nothing to cut short.
func runHost(ctx context.Context, h *host.Host, beside func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var others sync.WaitGroup
	var otherErr error
	others.Go(func() {
		otherErr = beside(ctx)
		stop()
	})
	err := h.Run(ctx)
	stop()
	others.Wait()
	return errors.Join(err, otherErr, h.Close())
}

// drain is how long the services of a host may take to finish when it stops.
const drain = 2 * time.Second
