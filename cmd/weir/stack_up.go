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
	Addr    string   `required:"" placeholder:"CIDR" help:"The host's address, with the length of its network: 10.0.0.2/24."`
	Gateway string   `placeholder:"ADDR" help:"The neighbour that passes on what is for other networks."`
	DNS     []string `name:"dns" placeholder:"ADDR" help:"A name server, with or without a port; may be said several times."`
	MTU     int      `name:"mtu" placeholder:"N" help:"Largest packet, in bytes; what the device has, or 1500."`
	Offload string   `enum:"on,off" default:"on" placeholder:"on|off" help:"Let the device cut and merge segments and complete checksums, if it can (on)."`
	Queues  int      `default:"1" placeholder:"N" help:"Queues of the device, each with a reader of its own (1)."`
	Way     string   `name:"run" enum:"chain,network" default:"chain" placeholder:"chain|network" help:"How packets are carried up: by calls, or by communicating processes (chain)."`
	Pcap    string   `name:"pcap" placeholder:"FILE" help:"Record every frame in a new file, which Wireshark and tcpdump read."`

	Setup     bool   `help:"Make the device, and this machine's address on it, and remove them at the end. Needs root."`
	Namespace string `placeholder:"NS" help:"The network namespace that the device is in; with --setup it is made if it is not there."`
	Peer      string `placeholder:"CIDR" help:"With --setup: this machine's address on the device; the first other one of the host's network."`
	Bridge    string `placeholder:"IF" help:"With --setup: join the device to this interface, so that others on it reach the host."`

	Probe   bool     `help:"Ask first, for some seconds, whether somebody else has the address; end if so."`
	Metrics string   `placeholder:"HOST:PORT" help:"Where on this machine to tell Prometheus of the host, at /metrics."`
	Impair  string   `placeholder:"SPEC" help:"What to do to frames, both ways, as weir stack impair says it: loss=1%,delay=20ms."`
	Service []string `sep:"none" placeholder:"NAME=PORT" help:"What to do at a port: echo=7, discard=9, source=19 or files=80:DIR; may be said several times."`
	JSON    bool     `name:"json" help:"Once the host is up, write how it is as JSON."`
}

// Help is the long part of the command's help.
func (c *stackUpCmd) Help() string {
	return `The host runs until Ctrl-C or SIGTERM. It answers pings, and serves what --service says; every other weir stack command uses it from the shell.

Services: echo sends back what comes, discard reads all, source sends without end, files=PORT:DIR is a web site of a folder.

Examples:

  sudo weir stack up --addr 10.0.0.2/24 --setup --service files=80:www
  sudo weir stack up --addr 10.0.0.2/24 --setup --namespace lab --service echo=7 --pcap lab.pcapng
  sudo weir stack up --addr 192.168.1.77/24 --probe --setup --bridge eth1 --gateway 192.168.1.1 --dns 192.168.1.1

Without root, on a device that was made for you:

  sudo ip tuntap add weir0 mode tap user ann
  sudo ip addr add 10.0.0.1/24 dev weir0
  sudo ip link set weir0 up
  weir stack up --addr 10.0.0.2/24

Once the host is up, the process has no capabilities in effect, on Linux: root reads root's files then, and those that everybody may read.
A device that --setup made ends with the process. To remove a bridge or a namespace that --setup made, or to put back
what it changed of a device, it keeps CAP_NET_ADMIN permitted, and with --namespace CAP_SYS_ADMIN.

--setup leaves things as they were, also after errors. Where the process was killed, remove a bridge by ip link del br-weir0.`
}

// config is the host that the flags ask for.
func (c *stackUpCmd) config(t *terminal) (host.Config, error) {
	h := host.Config{Tap: c.Tap, Namespace: c.Namespace, MTU: c.MTU, Queues: c.Queues, Plain: c.Offload == "off", Run: tcpip.Run(c.Way), ProbeAddr: c.Probe, OnConflict: t.conflict, Setup: c.Setup, Bridge: c.Bridge, Capture: c.Pcap,
		Control: filepath.Join(controlFolders()[0], host.SocketName(c.Tap, c.Namespace))}
	var err error
	if h.Addr, err = prefix("--addr", c.Addr); err != nil {
		return h, err
	}
	if h.Peer, err = prefix("--peer", c.Peer); err != nil {
		return h, err
	}
	if c.Gateway != "" {
		if h.Gateway, err = netip.ParseAddr(c.Gateway); err != nil {
			return h, usageError{fmt.Errorf("--gateway is %q: write an address, such as 10.0.0.1", c.Gateway)}
		}
	}
	for _, d := range c.DNS {
		server, err := nameServer(d)
		if err != nil {
			return h, err
		}
		h.DNS = append(h.DNS, server)
	}
	if h.Impair, err = host.ParseImpairment(c.Impair); err != nil {
		return h, usageError{err}
	}
	if c.Metrics != "" {
		if err := listening.Check(c.Metrics); err != nil {
			return h, fmt.Errorf("--metrics: %w", err)
		}
	}
	switch {
	case !c.Setup && (c.Peer != "" || c.Bridge != ""):
		return h, usageError{errors.New("--peer and --bridge are made by --setup: ask for that too")}
	case c.Setup && c.Peer == "" && c.Bridge == "" && h.Addr.Bits() == 32:
		return h, usageError{fmt.Errorf("the network of --addr %s has no room for this machine's address: write a longer network, such as %s/24, or say --peer", c.Addr, h.Addr.Addr())}
	}
	h.Services, err = stackServices(c.Service, t)
	return h, err
}

// prefix reads an address with the length of its network. Empty is none.
func prefix(flag, text string) (netip.Prefix, error) {
	if text == "" {
		return netip.Prefix{}, nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4() {
		return p, usageError{fmt.Errorf("%s is %q: write an IPv4 address with the length of its network, such as 10.0.0.2/24", flag, text)}
	}
	return p, nil
}

// nameServer reads the address of one, with or without a port.
func nameServer(text string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
		return netip.AddrPortFrom(a, 53), nil
	}
	a, err := netip.ParseAddrPort(text)
	if err != nil || !a.Addr().Is4() {
		return a, usageError{fmt.Errorf("--dns is %q: write an address, such as 10.0.0.1 or 10.0.0.1:53", text)}
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
		fmt.Fprintf(t.err, "weir: asking whether somebody has %s, for some seconds\n", config.Addr.Addr())
	}
	h, err := startHost(config)
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

// startHost starts one; where it may not, it says what to do.
func startHost(c host.Config) (*host.Host, error) {
	if err := os.MkdirAll(filepath.Dir(c.Control), 0o700); err != nil {
		return nil, fmt.Errorf("the control socket's folder: %w: set XDG_RUNTIME_DIR to a folder of yours, or use sudo", err)
	}
	h, err := host.Start(c)
	switch {
	case errors.Is(err, host.ErrNoDevice):
		return nil, fmt.Errorf("%w (--setup)", err)
	case errors.Is(err, fs.ErrPermission) && c.Setup:
		return nil, fmt.Errorf("%w; --setup needs root: use sudo", err)
	}
	return h, err
}

// runHost runs a host until ctx ends, and what runs beside it, and takes everything down. It takes
// a few seconds at most, so that nothing has to be cut short.
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

// drain is how long what a host's services are doing may take when it ends.
const drain = 2 * time.Second
