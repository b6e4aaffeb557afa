package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"weir/tcpip/host"
	"weir/tcpip/link"
	"weir/tcpip/nat"
	"weir/tcpip/nat/guest"
)

// natFlags are the flags of a user-mode network.
type natFlags struct {
	PID    int    `name:"pid" placeholder:"N" help:"Give a network to the namespaces of this process."`
	FD     int    `name:"fd" placeholder:"N" help:"Use the TAP or TUN device that is open as this descriptor."`
	Socket string `placeholder:"PATH" help:"Listen at this Unix socket for a virtual machine (QEMU: -netdev stream,addr.type=unix,addr.path=PATH)."`

	Addr     []string `placeholder:"CIDR" help:"The gateway's address, with its prefix length (10.0.2.2/24 and fd00:2::2/64). May be repeated: one for each version of IP."`
	DNS      []string `name:"dns" placeholder:"ADDR" help:"A name server for queries to the gateway (default: this machine's, of /etc/resolv.conf). May be repeated."`
	Publish  []string `short:"p" placeholder:"PORTS" help:"A port of this machine that reaches the guest: 8080:80, 0.0.0.0:8080:80 or 5353:53/udp. May be repeated."`
	Loopback []string `placeholder:"ADDR" help:"An address that stands for this machine's loopback address, such as 192.0.2.1. May be repeated."`
	Deny     []string `placeholder:"CIDR" help:"A network that the guest does not reach, beside this machine and the metadata services of clouds. May be repeated."`
	MTU      int      `name:"mtu" default:"65520" placeholder:"N" help:"MTU in bytes (65520)."`
	Device   string   `default:"weir0" placeholder:"NAME" help:"Name of the device in the namespace (weir0)."`
	Tun      bool     `help:"Make a TUN device, of IP packets, in place of a TAP device."`
	Pcap     string   `placeholder:"FILE" help:"Capture every frame into a new pcapng file, for Wireshark and tcpdump. With --socket, the second virtual machine has FILE.2, and so on."`
	Impair   string   `placeholder:"SPEC" help:"Impairment of both directions, as for weir stack impair: loss=1%,delay=20ms."`
	Seed     uint64   `kong:"-"` // of the impairment
}

type stackNATCmd struct {
	natFlags

	Command []string `arg:"" optional:"" passthrough:"" help:"Run this program in new namespaces with the network."`
}

// Help is the long part of the command's help.
func (c *stackNATCmd) Help() string {
	return `Gives a network to a program, a container or a virtual machine without root: a stack in this process is its gateway, and passes connections on by ordinary sockets. TCP, UDP, pings and DNS pass; the gateway serves DHCP and IPv6 router advertisements.

The guest does not reach loopback and link-local addresses of this machine, nor the metadata services of clouds. Pings need a group within net.ipv4.ping_group_range.

With a program, its exit status is that of this command. Without one, the network is there until Ctrl-C or SIGTERM, and with --pid until that process ends.

Examples:

  weir stack nat curl https://example.org/
  weir stack nat -p 8080:80 sh                    a shell; port 8080 here is port 80 there
  weir stack nat --loopback 192.0.2.1 sh          192.0.2.1 there is 127.0.0.1 here
  weir stack nat --pid 4711 --pcap guest.pcapng   the namespaces of a container's process
  weir stack nat --socket vm.sock                 a virtual machine`
}

// Run implements the command.
func (c *stackNATCmd) Run(ctx context.Context, t *terminal) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	return c.run(ctx, t, config, c.Command)
}

// run gives a guest a network until ctx or its command ends.
func (c *natFlags) run(ctx context.Context, t *terminal, config nat.Config, command []string) error {
	kinds := 0
	for _, given := range []bool{c.PID != 0, c.FD != 0, c.Socket != "", len(command) > 0} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return usageError{errors.New("say which guest gets the network: a program to run, or one of --pid, --fd and --socket")}
	case c.Socket != "":
		return c.runSocket(ctx, t, config)
	case c.FD != 0:
		l, err := link.Adopt(os.NewFile(uintptr(c.FD), "--fd"), link.AdoptConfig{MTU: c.MTU})
		if err != nil {
			return fmt.Errorf("--fd %d: %w", c.FD, err)
		}
		return c.runLink(ctx, t, config, l, nil)
	}
	return c.runGuest(ctx, t, config, command)
}

// runGuest gives a network to other namespaces.
func (c *natFlags) runGuest(ctx context.Context, t *terminal, config nat.Config, command []string) error {
	inside, err := config.Guests()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var ended <-chan struct{} // nil: the guest is the command
	if c.PID != 0 {
		if ended, err = guest.Ended(ctx, c.PID); err != nil {
			return err
		}
	}
	gateways := config.Gateways()
	g, err := guest.Start(ctx, []string{self, "stack", "nat-inside"}, guest.Config{Device: c.Device, Tun: c.Tun, MTU: c.MTU, Addrs: inside, Gateways: gateways, DNS: gateways, PID: c.PID, Command: command})
	if err != nil {
		return err
	}
	l, err := link.Adopt(g.Device, link.AdoptConfig{MTU: c.MTU})
	if err != nil {
		return err
	}
	if len(command) == 0 {
		if err := g.Wait(); err != nil {
			return errors.Join(err, l.Close())
		}
		return c.runLink(ctx, t, config, l, ended)
	}
	n, err := c.start(config, l)
	if err != nil {
		return err
	}
	err = g.Proceed()
	if waited := g.Wait(); err == nil {
		err = waited
	}
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		err = statusOf(ended)
	}
	if closeErr := n.Close(); err == nil {
		err = closeErr
	}
	return err
}

// runLink gives a network to a link until ctx ends, or the guest, or the device is gone.
func (c *natFlags) runLink(ctx context.Context, t *terminal, config nat.Config, l link.Link, ended <-chan struct{}) error {
	gone := make(chan error, 1) // a reader of the link -> runLink: why the device is gone
	n, err := c.start(config, &endingLink{l, gone})
	if err != nil {
		return err
	}
	fmt.Fprintf(t.err, "weir: the network is there; the gateway is %s\n", joinAddrs(n.Config().Gateway))
	select {
	case <-ctx.Done():
	case <-ended:
		if ctx.Err() == nil {
			fmt.Fprintf(t.err, "weir: process %d has ended, and its network with it\n", c.PID)
		}
	case why := <-gone:
		err = fmt.Errorf("the device of the guest is gone (%w): it was deleted, or its namespace has ended: start the network again", why)
	}
	return errors.Join(err, n.Close())
}

// runSocket gives a network to one virtual machine after the other.
func (c *natFlags) runSocket(ctx context.Context, t *terminal, config nat.Config) error {
	mask := syscall.Umask(0o177) // other users of this machine stay outside from the start
	l, err := listenUnix(c.Socket)
	syscall.Umask(mask)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	fmt.Fprintf(t.err, "weir: waiting for a virtual machine at %s\n", c.Socket)
	for number := 1; ; number++ {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		machine := *c
		if number > 1 && c.Pcap != "" { // a capture for each machine
			machine.Pcap = fmt.Sprintf("%s.%d", c.Pcap, number)
		}
		if err := machine.serveMachine(ctx, t, config, conn); err != nil {
			return err
		}
	}
}

// listenUnix listens at a Unix socket. It replaces one that a killed process has left.
func listenUnix(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	conn, dialErr := net.Dial("unix", path)
	if dialErr == nil {
		conn.Close()
	}
	if i, statErr := os.Lstat(path); statErr != nil || i.Mode().Type() != os.ModeSocket || !errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil, err
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return net.Listen("unix", path)
}

// serveMachine gives a network to a virtual machine until it ends. A stream that is wrong ends its
// own machine only.
func (c *natFlags) serveMachine(ctx context.Context, t *terminal, config nat.Config, conn net.Conn) error {
	ended := make(chan error, 1) // endNotifier -> serveMachine: why the machine has ended
	l, err := link.Over(&endNotifier{link.Prefixed(conn), ended}, link.OverConfig{MTU: c.MTU})
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	n, err := c.start(config, l)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.err, "weir: a virtual machine is there; its gateway is %s\n", joinAddrs(n.Config().Gateway))
	select {
	case why := <-ended:
		// both are the end of a machine that was stopped
		if !errors.Is(why, io.EOF) && !errors.Is(why, syscall.ECONNRESET) {
			fmt.Fprintf(t.err, "weir: the virtual machine was disconnected: %v\n", why)
		}
	case <-ctx.Done():
	}
	return n.Close()
}

// start starts a user-mode network on a link, with capture and impairment.
func (c *natFlags) start(config nat.Config, l link.Link) (*nat.NAT, error) {
	l, err := c.wrap(l)
	if err != nil {
		return nil, err
	}
	config.Link = l
	return nat.New(config)
}

// wrap adds the impairment and the capture to a link. After an error the link is closed.
func (c *natFlags) wrap(l link.Link) (link.Link, error) {
	impairment, err := host.ParseImpairment(c.Impair)
	if err == nil && impairment != (link.Impairment{}) {
		var impaired *link.Impaired
		if impaired, err = link.Impair(l, link.ImpairConfig{Seed: c.Seed, In: impairment, Out: impairment}); err == nil {
			l = impaired
		}
	}
	if err != nil {
		return nil, errors.Join(usageError{err}, l.Close())
	}
	if c.Pcap == "" {
		return l, nil
	}
	f, err := os.OpenFile(c.Pcap, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		err = fmt.Errorf("%w: --pcap needs a new file: remove this one, or give another name", err)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	capture, err := link.NewCapture(l, f, link.CaptureConfig{Name: c.Device})
	if err != nil {
		return nil, errors.Join(err, f.Close(), l.Close())
	}
	return &closingLink{capture, f}, nil
}

func joinAddrs(all []netip.Prefix) string {
	var texts []string
	for _, p := range all {
		texts = append(texts, p.Addr().String())
	}
	return strings.Join(texts, " and ")
}
