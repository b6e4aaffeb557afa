package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"weir/tcpip/host"
)

type stackNCCmd struct {
	hostFlags

	Host string  `arg:"" help:"The address to connect to, or a name; with -l and no port, the port."`
	Port string  `arg:"" optional:"" help:"The port."`
	L    bool    `name:"listen" short:"l" help:"Listen on a port of the host instead, for one connection."`
	UDP  bool    `name:"udp" short:"u" help:"Use UDP: each read from standard input is a datagram."`
	Wait seconds `name:"wait" short:"w" placeholder:"D" help:"Timeout of the connection; for UDP also of answers after the end of input (1)."`
}

// Help is the long part of the command's help.
func (c *stackNCCmd) Help() string {
	return `Sends standard input to the peer, and writes what the peer sends to standard output. The end of input closes the sending side. The command ends when both sides are closed; on a terminal when the peer has closed.

Examples:

  echo hello | weir stack nc 10.0.0.1 7
  weir stack nc -l 8080                        one connection, from any client
  weir stack nc -u 10.0.0.1 5353 < datagram
  weir stack nc 10.0.0.1 9000 < file`
}

// Run implements the command.
func (c *stackNCCmd) Run(ctx context.Context, t *terminal) error {
	where, port := c.Host, c.Port
	switch {
	case port == "" && !c.L:
		return usageError{errors.New("the port is missing: write weir stack nc HOST PORT, or -l PORT to listen")}
	case port == "":
		where, port = "", where
	}
	h, err := c.findHost(ctx)
	if err != nil {
		return err
	}
	conn, err := c.connect(ctx, h, t, net.JoinHostPort(where, port))
	if err != nil {
		return err
	}
	defer conn.Close()
	return c.talk(ctx, conn, t)
}

func (c *stackNCCmd) connect(ctx context.Context, h host.Client, t *terminal, addr string) (net.Conn, error) {
	if c.Wait > 0 {
		waiting, cancel := context.WithTimeout(ctx, time.Duration(c.Wait))
		defer cancel()
		ctx = waiting
	}
	network := "tcp"
	if c.UDP {
		network = "udp"
	}
	if !c.L {
		return h.DialContext(ctx, network, addr)
	}
	w, err := h.Listen(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if t.errTTY {
		fmt.Fprintf(t.err, "weir: listening on %s\n", w.Addr())
	}
	conn, err := w.Accept()
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no client connected: %w", context.Cause(ctx))
		}
		return nil, err
	}
	if t.errTTY {
		fmt.Fprintf(t.err, "weir: connected to %s\n", conn.RemoteAddr())
	}
	return conn, nil
}

// talk copies standard input to the connection, and the connection to standard output, until both
// have ended. On a terminal it does not wait for more input once the peer has closed.
func (c *stackNCCmd) talk(ctx context.Context, conn net.Conn, t *terminal) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	sent := make(chan struct{}) // no values, closed when the input is sent, or cannot be
	go func() {                 // until the input ends, or the process does
		defer close(sent)
		if err := typed(conn, os.Stdin); err != nil {
			return // the read below fails for the same reason
		}
		conn.(interface{ CloseWrite() error }).CloseWrite() //nolint:errcheck // the read below reports a broken connection
		if c.UDP {
			wait := time.Duration(c.Wait)
			if wait == 0 {
				wait = time.Second
			}
			conn.SetReadDeadline(time.Now().Add(wait)) //nolint:errcheck // the read below reports a broken connection
		}
	}()
	_, err := io.Copy(t.out, conn)
	if err == nil && !isTerminal(os.Stdin) {
		select {
		case <-sent:
		case <-ctx.Done():
		}
	}
	switch {
	case ctx.Err() != nil:
		return errStillOpen
	case c.UDP && errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return err
}

// typed copies the input by one Write for each Read, so that over UDP a typed line is a datagram.
func typed(conn net.Conn, in io.Reader) error {
	for b := make([]byte, 32<<10); ; {
		n, err := in.Read(b)
		if n > 0 {
			if _, err := conn.Write(b[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
