package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"weir/tcpip/host"
)

type stackCmd struct {
	Up      stackUpCmd        `cmd:"" help:"Run a host in user space on a TAP device; example: weir stack up --addr 10.0.0.2/24 --setup"`
	NAT     stackNATCmd       `cmd:"" name:"nat" help:"Give a program, a container or a virtual machine a network, without root; example: weir stack nat curl https://example.org/"`
	SOCKS   stackSOCKSCmd     `cmd:"" name:"socks" help:"Give a program a network through a SOCKS5 proxy; example: weir stack socks 127.0.0.1:1080 curl https://example.org/"`
	Exec    stackExecCmd      `cmd:"" help:"Run an unmodified program on a stack in user space, with packet loss if wanted, without root and namespaces; example: weir stack exec --impair loss=1% curl https://example.org/"`
	Inside  stackNATInsideCmd `cmd:"" name:"nat-inside" hidden:""`
	Guard   stackExecGuardCmd `cmd:"" name:"exec-guard" hidden:""`
	Ping    stackPingCmd      `cmd:"" help:"Ping from the host; example: weir stack ping 10.0.0.1"`
	NC      stackNCCmd        `cmd:"" name:"nc" help:"Connect standard input and output to an address, or listen, on the host; example: weir stack nc 10.0.0.1 8080"`
	Get     stackGetCmd       `cmd:"" help:"Fetch a URL from the host; example: weir stack get http://10.0.0.1:8000/"`
	DNS     stackDNSCmd       `cmd:"" name:"dns" help:"Query the host's name servers; example: weir stack dns example.org MX"`
	Netstat stackNetstatCmd   `cmd:"" help:"Show the host's connections, listeners, neighbours, routes, drops and counters; example: weir stack netstat --watch"`
	Draw    stackDrawCmd      `cmd:"" help:"Draw the layers of the host's stack as a network; example: weir stack draw > stack.svg"`
	Link    stackLinkCmd      `cmd:"" help:"Change the addresses or the MTU of a link of the host; example: weir stack link weir0 --add 10.0.0.3/24"`
	Impair  stackImpairCmd    `cmd:"" help:"Drop, delay or reorder the host's frames while it runs; example: weir stack impair loss=10%,delay=50ms"`
}

// Help is the long part of the command's help.
func (c *stackCmd) Help() string {
	return `A host in user space has an IP address and a TCP/IP stack of its own, inside a process. The kernel of this machine sees it at the other end of a TAP device, as if it were on a cable. weir stack up runs it. The other commands use it while it runs, by a control socket in $XDG_RUNTIME_DIR/weir, or /run/weir without that variable.

docs/host-in-user-space.md is a tutorial.

Examples:

  sudo weir stack up --addr 10.0.0.2/24 --setup --service echo=7 --service files=80:www
  ping 10.0.0.2
  curl http://10.0.0.2/
  sudo weir stack netstat
  sudo weir stack impair loss=10%
  sudo weir stack impair off`
}

// hostFlags select one of the running hosts. A host is the process of weir stack up: a TCP/IP stack
// in user space, on a device of its own. Other commands reach it through its control socket.
type hostFlags struct {
	Tap       string `placeholder:"NAME" help:"Select the host by its device (default: the only running host)."`
	Namespace string `placeholder:"NS" help:"Select the host by the network namespace of its device."`
}

// controlFolders returns the folders of control sockets. A new host uses the first.
func controlFolders() []string {
	system := "/run/weir"
	if own := os.Getenv("XDG_RUNTIME_DIR"); own != "" {
		return []string{filepath.Join(own, "weir"), system}
	}
	return []string{system}
}

// findHost returns the selected host.
func (f hostFlags) findHost(ctx context.Context) (host.Client, error) {
	folders := controlFolders()
	all, denied := host.Find(ctx, folders...)
	var meant []host.FoundHost
	var names []string
	for _, h := range all {
		if (f.Tap == "" || h.Tap == f.Tap) && (f.Namespace == "" || h.Namespace == f.Namespace) {
			meant = append(meant, h)
			names = append(names, strings.TrimSuffix(filepath.Base(h.Path), ".sock"))
		}
	}
	switch {
	case len(meant) == 1:
		return meant[0].Client, nil
	case len(meant) > 1:
		return host.Client{}, usageError{fmt.Errorf("several hosts run: %s: select one by --tap and --namespace", strings.Join(names, ", "))}
	case denied != "":
		return host.Client{}, fmt.Errorf("the host at %s belongs to another user: use sudo", denied)
	case len(all) > 0:
		return host.Client{}, fmt.Errorf("no host runs on %s, but another one does: %s", host.SocketName(f.Tap, f.Namespace), filepath.Base(all[0].Path))
	}
	return host.Client{}, fmt.Errorf("no host runs (no control socket in %s): start one by weir stack up", strings.Join(folders, " or "))
}

type stackDNSCmd struct {
	hostFlags

	Name string `arg:"" help:"The name; for PTR an address."`
	Type string `arg:"" default:"A" help:"Type of the records: A, AAAA, CNAME, MX, NS, PTR, SRV or TXT."`
	JSON bool   `name:"json" help:"Write the records as JSON."`
}

// Help is the long part of the command's help.
func (c *stackDNSCmd) Help() string {
	return `The host queries the servers of --dns over its own stack.

Examples:

  weir stack dns example.org
  weir stack dns example.org MX
  weir stack dns 192.0.2.1 PTR`
}

// Run implements the command.
func (c *stackDNSCmd) Run(ctx context.Context, t *terminal) error {
	h, err := c.findHost(ctx)
	if err != nil {
		return err
	}
	records, err := h.Lookup(ctx, c.Name, c.Type)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(records)
	}
	for _, r := range records {
		fmt.Fprintln(t.out, r)
	}
	return nil
}

type stackImpairCmd struct {
	hostFlags

	Link string  `placeholder:"NAME" help:"Only this link of the host (default: all)."`
	Spec *string `arg:"" optional:"" help:"Impairment of each direction: some of loss=1%,delay=20ms,jitter=5ms,reorder=1%,duplicate=1%,rate=10Mbit; or off (default: print the current one)."`
}

// Help is the long part of the command's help.
func (c *stackImpairCmd) Help() string {
	return `Takes effect with the next frame, in each direction, until it is changed or the host stops. It replaces the impairment before: a setting that is left out is off.

Examples:

  weir stack impair loss=10%
  weir stack impair delay=50ms,jitter=10ms,rate=10Mbit
  weir stack impair --link weir1 loss=100%
  weir stack impair off`
}

// Run implements the command.
func (c *stackImpairCmd) Run(ctx context.Context, t *terminal) error {
	if c.Spec != nil {
		if _, err := host.ParseImpairment(*c.Spec); err != nil {
			return usageError{err}
		}
	}
	h, err := c.findHost(ctx)
	if err != nil {
		return err
	}
	now, err := h.Impair(ctx, c.Link, c.Spec)
	if err != nil {
		return err
	}
	fmt.Fprintln(t.out, now)
	return nil
}

// errStillOpen is the error of an interrupted connection that neither end had closed.
var errStillOpen = errors.New("the connection was still open")
