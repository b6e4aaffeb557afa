package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/user"
	"strings"
	"time"

	"weir/chat/client"
	"weir/chat/tui"
)

// chatConnectCmd is the command "weir chat connect".
type chatConnectCmd struct {
	chatTrust // the flags of TLS: which certificates are trusted

	Addr string `arg:"" optional:"" placeholder:"HOST[:PORT]" help:"The server (default: this machine). The port is 6667, or 6697 by TLS."`

	Nick       string   `short:"n" help:"The nick (default: the account's name, or your user name on this machine)."`
	Account    string   `short:"a" placeholder:"NAME[@DEVICE]" help:"Log in to this account; weir asks for the password."`
	PasswordFD int      `name:"password-fd" default:"-1" placeholder:"N" help:"Read the password from this file descriptor instead, one line."`
	Rooms      []string `name:"room" short:"r" sep:"none" placeholder:"#ROOM" help:"Join a room, \"#room\" or \"#room KEY\". May be repeated."`
	Theme      string   `default:"auto" enum:"auto,dark,light,none" help:"Colours; auto asks the terminal for its background, or is none if NO_COLOR is set."`
}

// Help is the long part of the command's help.
func (c *chatConnectCmd) Help() string {
	return `Shows the chat on this terminal, also over ssh: the rooms with their unread messages, the conversation, and an input line. /help lists the commands. A broken connection is made again, and no message is missed or shown twice.

Examples:

  weir chat connect                                         the chat on this machine, as a guest
  weir chat connect --tls chat.example.org -a ann -r '#garden'
  weir chat connect --ca our-ca.pem chat.example.org        a server with a certificate of your own authority
  weir chat connect -a ann@laptop --password-fd 3 3< secret
  weir chat connect --cert ann.pem -a ann chat.example.org  log in by a certificate that "weir chat user cert" registered`
}

// Run implements the command.
func (c *chatConnectCmd) Run(ctx context.Context, t *terminal) error {
	if !t.outTTY || !isTerminal(os.Stdin) {
		return errors.New("weir chat connect needs a terminal: standard input and output are not one")
	}
	address, host, err := c.address()
	if err != nil {
		return usageError{err}
	}
	config, err := c.clientConfig(t, host)
	if err != nil {
		return err
	}
	var secure *tls.Config
	if c.secure() {
		if secure, err = c.tls(host); err != nil {
			return usageError{err}
		}
	}
	dial, err := dialer(ctx, address, secure)
	if err != nil {
		return err
	}
	if c.Theme == "auto" && os.Getenv("NO_COLOR") != "" {
		c.Theme = "none"
	}
	return tui.Run(ctx, tui.Config{Client: config, Server: address, Theme: c.Theme, In: os.Stdin, Out: t.out, Dial: dial,
		HTTP: fileSender(secure), Home: os.Getenv("HOME")})
}

// fileSender returns the HTTP client that uploads files. It trusts the same certificates as the
// connection of the chat.
func fileSender(secure *tls.Config) *http.Client {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: 15 * time.Second}
	if secure != nil {
		t.TLSClientConfig = secure.Clone()
		t.TLSClientConfig.ServerName = "" // the host of the URL
	}
	return &http.Client{Transport: t}
}

// address returns the server's address with its port, and its host.
func (c *chatConnectCmd) address() (address, host string, err error) {
	port := "6667"
	if c.secure() {
		port = "6697"
	}
	host = first(c.Addr, "127.0.0.1")
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	} else if host = strings.Trim(host, "[]"); strings.Contains(host, ":") && !isAddress(host) {
		return "", "", fmt.Errorf("%q is malformed: write HOST or HOST:PORT; an IPv6 address with a port is [ADDRESS]:PORT", c.Addr)
	}
	host = first(host, "127.0.0.1")
	return net.JoinHostPort(host, port), host, nil
}

// isAddress reports whether a host is an IP address, with a zone or without.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// clientConfig returns the configuration of the chat client. If it logs in by a password,
// clientConfig asks for the password on the terminal, or reads it from --password-fd. The password
// may be sent as it is (AllowPlain) only if an attacker on the path cannot read it: by TLS with a
// verified certificate, or to this machine. The nonce distinguishes this run from other clients.
func (c *chatConnectCmd) clientConfig(t *terminal, host string) (client.Config, error) {
	ip := net.ParseIP(host)
	isThisMachine := host == "localhost" || ip != nil && ip.IsLoopback()
	config := client.Config{Nick: c.Nick, Account: c.Account, Rooms: c.Rooms, Nonce: strings.ToLower(rand.Text()[:8]),
		AllowPlain: c.secure() && !c.Insecure || isThisMachine}
	for _, room := range c.Rooms {
		if !strings.HasPrefix(room, "#") && !strings.HasPrefix(room, "&") {
			return config, usageError{fmt.Errorf("--room %q: a room's name starts with #; quote it for the shell", room)}
		}
	}
	if config.Nick == "" {
		config.Nick, _, _ = strings.Cut(c.Account, "@")
	}
	if config.Nick == "" {
		config.Nick = nickOfUser()
	}
	if c.Cert != "" && c.Account == "" {
		return config, usageError{errors.New("--cert logs in to an account: name it by --account")}
	}
	if config.External = c.Cert != ""; config.External || c.Account == "" {
		return config, nil
	}
	in := os.Stdin
	if c.PasswordFD >= 0 {
		if in = os.NewFile(uintptr(c.PasswordFD), "password"); in == nil {
			return config, usageError{fmt.Errorf("--password-fd %d is not an open file descriptor", c.PasswordFD)}
		}
		if c.PasswordFD > 2 {
			defer in.Close()
		}
	}
	password, err := readPassword(t, in, "Password: ")
	if err != nil {
		return config, fmt.Errorf("reading the password: %w", err)
	}
	config.Password = string(password)
	return config, nil
}

// nickOfUser returns the user name on this machine without the characters that a nick cannot have.
func nickOfUser() string {
	u, err := user.Current()
	if err != nil {
		return "guest"
	}
	nick := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' {
			return r
		}
		return -1
	}, u.Username)
	return first(strings.TrimLeft(nick, "0123456789"), "guest")
}
