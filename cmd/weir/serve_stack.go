package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"weir/serve"
	"weir/tcpip"
	"weir/web/server"
)

// usualListen returns the default address to listen on.
func (c *serveRunCmd) usualListen() string {
	if c.Stack != "" {
		return ":80"
	}
	return defaultListen
}

// setEngine sets what the flags --engine and --model say, or else the site file.
func (c *serveRunCmd) setEngine(config *server.Config, engine, model string) (err error) {
	config.Engine = first(c.Engine, engine)
	if config.Model, err = parseEngine(config.Engine, first(c.Model, model)); err != nil {
		return err
	}
	return c.setProcesses(config)
}

// parseEngine returns the model of a name, empty for the default. The error says why the engine
// cannot run by it.
func parseEngine(engine, model string) (way serve.Way, err error) {
	if way, err = serve.ParseWay(first(model, serve.Goroutine.String())); err == nil {
		err = server.Unsupported(engine, way)
	}
	if err != nil {
		err = usageError{err}
	}
	return way, err
}

// serveOn serves on the kernel's sockets, or on a host in user space.
func (c *serveRunCmd) serveOn(ctx context.Context, t *terminal, all []service, b beside) error {
	if err := c.checkFlags(all, b); err != nil {
		return err
	}
	if c.onStack == nil {
		return serveWeb(ctx, t, all, b)
	}
	if slices.ContainsFunc(all, func(s service) bool { return s.config.HTTP3 }) {
		return usageError{errors.New("--stack does not support HTTP/3: remove http3 from the site file, or leave --stack out")}
	}
	settings, err := c.onStack.config(t)
	if err != nil {
		return err
	}
	if len(settings.Links[0].Addrs) == 0 {
		return usageError{errors.New("--stack needs an address to serve on: give one by --addr, such as 10.0.0.2/24, beside dhcp")}
	}
	machine, err := startHost(ctx, settings)
	if err != nil {
		return err
	}
	err = listenOnStack(machine.Stack(), settings.Links[0].Addrs[0].Addr().String(), all)
	var metrics func(context.Context) error
	if err == nil {
		metrics, err = watchHost(ctx, c.onStack.Metrics, machine, t)
	}
	if err == nil {
		err = machine.DropPrivileges()
	}
	if err != nil {
		return errors.Join(err, machine.Close())
	}
	t.hostIsUp(machine, &settings)
	// the host outlives what is served on it
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	serving, failed := context.WithCancel(ctx)
	defer failed()
	ended := make(chan error, 1) // the goroutine below -> here: the error of the host
	go func() {
		ended <- runHost(running, machine, metrics)
		failed()
	}()
	err = serveWeb(serving, t, all, b)
	stop()
	return errors.Join(err, <-ended)
}

// listenOnStack opens the listener of each service on a stack. host is the address of those without
// one.
func listenOnStack(stack *tcpip.Stack, host string, all []service) error {
	for i := range all {
		where, port, err := net.SplitHostPort(all[i].config.Addr)
		if err == nil {
			all[i].config.Listener, err = stack.Listen("tcp", net.JoinHostPort(first(where, host), port))
		}
		if err != nil {
			return fmt.Errorf("%s%w", all[i].prefix(), err)
		}
	}
	return nil
}

// stackSpec parses --stack: the settings of weir stack up, separated by commas.
func stackSpec(text string) (*stackUpCmd, error) {
	c := &stackUpCmd{Tap: "weir0", Offload: "on", Queues: 1, Way: "chain"}
	texts := map[string]*string{"tap": &c.Tap, "offload": &c.Offload, "run": &c.Way, "pcap": &c.Pcap, "namespace": &c.Namespace, "bridge": &c.Bridge, "metrics": &c.Metrics}
	lists := map[string]*[]string{"addr": &c.Addr, "gateway": &c.Gateway, "route": &c.Route, "peer": &c.Peer, "dns": &c.DNS}
	numbers := map[string]*int{"mtu": &c.MTU, "queues": &c.Queues}
	for part := range strings.SplitSeq(text, ",") {
		key, value, valued := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case key == "setup" && !valued:
			c.Setup = true
		case key == "probe" && !valued:
			c.Probe = true
		case lists[key] != nil && value != "":
			*lists[key] = append(*lists[key], value)
		case texts[key] != nil && value != "":
			*texts[key] = value
		case numbers[key] != nil:
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return nil, usageError{fmt.Errorf("--stack: %s is %q: write a positive number", key, value)}
			}
			*numbers[key] = n
		default:
			return nil, usageError{fmt.Errorf("--stack has no setting %q: write it as in addr=10.0.0.2/24,setup (weir help serve run lists them)", part)}
		}
	}
	switch {
	case len(c.Addr) == 0:
		return nil, usageError{errors.New("--stack needs an address: write it as in addr=10.0.0.2/24,setup")}
	case c.Offload != "on" && c.Offload != "off":
		return nil, usageError{fmt.Errorf("--stack: offload is %q: write on or off", c.Offload)}
	case c.Way != "chain" && c.Way != "network":
		return nil, usageError{fmt.Errorf("--stack: run is %q: write chain or network", c.Way)}
	}
	if c.Pcap != "" {
		// absolute, because the working directory changes to that of a site file later
		c.Pcap = kong.ExpandPath(c.Pcap)
	}
	return c, nil
}
