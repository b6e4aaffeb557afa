package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"weir/tcpip"
	"weir/tcpip/ip"
	"weir/tcpip/link"
	"weir/tcpip/nat"
	"weir/tcpip/program"
	"weir/tcpip/tcp"
)

type stackExecCmd struct {
	Impair   string   `placeholder:"SPEC" help:"Impairment of both directions, as for weir stack impair: loss=1%,delay=20ms,rate=10Mbit."`
	Seed     uint64   `placeholder:"N" help:"Seed of the impairment: the same one loses the same packets (default 0)."`
	Pcap     string   `placeholder:"FILE" help:"Capture the program's packets into a new pcapng file, for Wireshark and tcpdump."`
	Hosts    string   `placeholder:"FILE" help:"A file of names, as /etc/hosts, that the program finds beside those of DNS."`
	Publish  []string `short:"p" placeholder:"PORTS" help:"A port of this machine that reaches the program: 8080:80, 0.0.0.0:8080:80 or 5353:53/udp. May be repeated."`
	Loopback []string `placeholder:"ADDR" help:"An address that stands for this machine's loopback address, such as 192.0.2.1. May be repeated."`
	Deny     []string `placeholder:"CIDR" help:"A network that the program does not reach, beside this machine's loopback and the metadata services of clouds. May be repeated."`
	DNS      []string `name:"dns" placeholder:"ADDR" help:"A name server for the program's queries (default: this machine's, of /etc/resolv.conf). May be repeated."`
	MTU      int      `name:"mtu" default:"1500" placeholder:"N" help:"MTU of the virtual wire, in bytes (1500)."`
	Network  string   `placeholder:"FILE" help:"Run the programs of this file, each on a host of one network: see the documents."`

	Command []string `arg:"" optional:"" passthrough:"" help:"The program to run, and its arguments."`
}

// Help is the long part of the command's help.
func (c *stackExecCmd) Help() string {
	return `Runs an unmodified program, and all that it starts, on a TCP/IP stack in user space, without root and without namespaces. Its packets cross a virtual wire, which may lose and delay them, to the gateway of weir stack nat, which passes connections on by ordinary sockets. The program's loopback is its own.

It works by notifications of system calls (seccomp), for TCP and UDP. What it does not support, such as io_uring and raw sockets, is refused with an error and a line that says so. It is no sandbox: files and Unix sockets stay as they are.

The exit status is that of the program. Signals are passed on to it; what it has left is ended with it.

Examples:

  weir stack exec curl https://example.org/
  weir stack exec --impair loss=1%,delay=20ms --seed 7 curl https://example.org/
  weir stack exec -p 8080:80 --pcap nginx.pcapng nginx -g 'daemon off;'
  weir stack exec --loopback 192.0.2.1 psql -h 192.0.2.1    a server of this machine
  weir stack exec --network docs/networks/redis.toml    several programs, with a partition`
}

// Run implements the command.
func (c *stackExecCmd) Run(ctx context.Context, t *terminal) error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	if c.Network != "" {
		return c.runNetwork(ctx, t)
	}
	if len(c.Command) == 0 {
		return usageError{errors.New("say which program to run: weir stack exec curl https://example.org/")}
	}
	signals := catchSignals(ctx)
	defer signal.Stop(signals)
	n, s, err := c.network()
	if err != nil {
		return err
	}
	status, err := c.execute(t, n, s, signals)
	awaitSent(s, n.Stack())
	err = errors.Join(err, s.Close(), n.Close())
	if err == nil && status != 0 {
		err = statusError(status)
	}
	return err
}

// sendTimeout is how long data of a program that has ended may take to cross the wire.
const sendTimeout = 5 * time.Second

// awaitSent waits until what a program has written before its end has left the gateway.
func awaitSent(inside, gateway *tcpip.Stack) {
	for end := time.Now().Add(sendTimeout); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if !slices.ContainsFunc(inside.Connections(), isSending) && !slices.ContainsFunc(gateway.Connections(), isReceiving) {
			return
		}
	}
}

// isSending reports whether a connection has data or a FIN to send.
func isSending(c tcpip.ConnInfo) bool {
	return c.Unsent > 0 || c.InFlight > 0 || c.State == tcp.FinWait1 || c.State == tcp.Closing || c.State == tcp.LastAck
}

// isReceiving reports whether the gateway has data to pass on.
func isReceiving(c tcpip.ConnInfo) bool {
	return c.Unread > 0 || c.OutOfOrder > 0
}

// catchSignals has signals go to the program in place of ending this command. Those that this
// command ignores stay ignored, by the program too.
func catchSignals(ctx context.Context) chan os.Signal {
	releaseInterrupts(ctx)
	caught := make(chan os.Signal, 16) // from the runtime; more at once are lost, as by the kernel
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	return caught
}

// network makes the program's stack, and the gateway at the other end of the wire.
func (c *stackExecCmd) network() (*nat.NAT, *tcpip.Stack, error) {
	flags := natFlags{DNS: c.DNS, Publish: c.Publish, Loopback: c.Loopback, Deny: c.Deny, Pcap: c.Pcap, Impair: c.Impair, Device: "program", Seed: c.Seed}
	config, err := flags.config()
	if err != nil {
		return nil, nil, err
	}
	if config.Hosts, err = readHosts(c.Hosts); err != nil {
		return nil, nil, err
	}
	guests, err := config.Guests()
	if err != nil {
		return nil, nil, err
	}
	inside, outside := link.Pair(link.PairConfig{Medium: link.IP, MTU: c.MTU, Superframe: 65535, Checksum: true})
	if inside, err = flags.wrap(inside); err != nil {
		return nil, nil, errors.Join(err, outside.Close())
	}
	s, err := tcpip.New(tcpip.Config{Link: inside, Addrs: guests, Routes: defaultRoutes(config.Gateways())})
	if err != nil {
		return nil, nil, errors.Join(err, inside.Close(), outside.Close())
	}
	config.Link = outside
	n, err := nat.New(config)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return n, s, nil
}

// readHosts reads a file of names, such as /etc/hosts: lines of an address with its names.
func readHosts(file string) (map[string][]netip.Addr, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	hosts, number := map[string][]netip.Addr{}, 0
	for line := range strings.Lines(string(text)) {
		number++
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		a, err := netip.ParseAddr(fields[0])
		if err != nil || len(fields) < 2 {
			return nil, fmt.Errorf("%s:%d: write an address and its names, such as 192.0.2.1 db.example", file, number)
		}
		for _, name := range fields[1:] {
			name = strings.ToLower(strings.TrimSuffix(name, "."))
			hosts[name] = append(hosts[name], a)
		}
	}
	return hosts, nil
}

// defaultRoutes returns routes to all networks by the gateways.
func defaultRoutes(gateways []netip.Addr) (all []ip.Route) {
	for _, g := range gateways {
		all = append(all, ip.Route{To: netip.PrefixFrom(g, 0).Masked(), Via: g})
	}
	return all
}

// execute runs the program, and returns its status.
func (c *stackExecCmd) execute(t *terminal, n *nat.NAT, s *tcpip.Stack, signals <-chan os.Signal) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	config := program.Config{Stack: s, Command: c.Command, Self: []string{self, "stack", "exec-guard"}, Refused: func(line string) {
		fmt.Fprintln(t.err, "weir:", line)
	}}
	if len(n.Config().DNS) > 0 || len(n.Config().Hosts) > 0 {
		config.NameServer = netip.AddrPortFrom(n.Config().Gateways()[0], 53)
	}
	if err := adoptOrphans(); err != nil {
		return 0, err
	}
	p, err := program.Start(config)
	if failed, ok := errors.AsType[*program.StartError](err); ok {
		fmt.Fprintln(t.err, "weir:", failed.Reason)
		return failed.Status, nil
	}
	if err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	defer close(ended)
	go passSignals(p, signals, ended) // until ended is closed
	defer endChildren()               // none is left, unless the guard was killed
	return p.Wait()
}

// passSignals passes signals on to a program. Those of a terminal's keys reach the program without
// help: it is in the same process group.
func passSignals(p *program.Program, signals <-chan os.Signal, ended <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			if number := s.(syscall.Signal); number != syscall.SIGINT && number != syscall.SIGQUIT || !inForeground() {
				p.Signal(number) //nolint:errcheck // it has ended
			}
		case <-ended:
			return
		}
	}
}

// stackExecGuardCmd is the helper of weir stack exec that starts the program.
type stackExecGuardCmd struct {
	FD int `arg:""`
}

// Run implements the command.
func (c *stackExecGuardCmd) Run() error {
	status, err := program.Inside(os.NewFile(uintptr(c.FD), "control"))
	if err == nil && status != 0 {
		return statusError(status)
	}
	return err
}
