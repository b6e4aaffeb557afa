package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"golang.org/x/net/proxy"
)

type stackSOCKSCmd struct {
	natFlags

	Auth    string   `name:"auth-file" placeholder:"FILE" help:"A file with USER:PASSWORD for the proxy, in its first line."`
	Proxy   string   `arg:"" name:"proxy" help:"The SOCKS5 proxy, HOST:PORT."`
	Command []string `arg:"" optional:"" passthrough:"" help:"Run this program in new namespaces with the network."`
}

// Help is the long part of the command's help.
func (c *stackSOCKSCmd) Help() string {
	return `Like weir stack nat, but connections pass through a SOCKS5 proxy: programs that know nothing of it use it, and nothing goes around it. DNS queries go to the name servers by TCP through the proxy; give them by --dns, as the proxy sees them. Other UDP and pings are rejected as unreachable.

Examples:

  weir stack socks --dns 192.0.2.53 127.0.0.1:1080 curl https://example.org/
  weir stack socks --auth-file proxy.auth proxy.example:1080 sh`
}

// Run implements the command.
func (c *stackSOCKSCmd) Run(ctx context.Context, t *terminal) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(c.Proxy); err != nil {
		return usageError{fmt.Errorf("the proxy is %q: write HOST:PORT, such as 127.0.0.1:1080", c.Proxy)}
	}
	auth, err := c.auth()
	if err != nil {
		return err
	}
	dialer, err := proxy.SOCKS5("tcp", c.Proxy, auth, &net.Dialer{})
	if err != nil {
		return err
	}
	config.Loopback, config.NoEcho = nil, true
	config.Dial = func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
		if network != "tcp" {
			return nil, syscall.EHOSTUNREACH
		}
		return dialer.(proxy.ContextDialer).DialContext(ctx, network, to.String())
	}
	return c.run(ctx, t, config, c.Command)
}

// auth reads the user and the password, if there are any.
func (c *stackSOCKSCmd) auth() (*proxy.Auth, error) {
	if c.Auth == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.Auth)
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	user, password, ok := strings.Cut(strings.TrimRight(line, "\r"), ":")
	if !ok {
		return nil, errors.New(c.Auth + " has no USER:PASSWORD in its first line: write it there")
	}
	return &proxy.Auth{User: user, Password: password}, nil
}
