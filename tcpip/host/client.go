package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Client uses a host in another process by its control socket. Each call makes a connection. Any
// goroutine may call.
type Client struct{ Path string }

// FoundHost is a running host.
type FoundHost struct {
	Client
	Tap, Namespace string
}

// Find returns the hosts whose control sockets are in these folders and answer. denied is the path
// of a socket or folder that the caller may not access; empty: none.
func Find(ctx context.Context, folders ...string) (all []FoundHost, denied string) {
	for _, folder := range folders {
		files, err := os.ReadDir(folder)
		if errors.Is(err, fs.ErrPermission) {
			denied = folder
		}
		for _, file := range files {
			if filepath.Ext(file.Name()) != ".sock" {
				continue
			}
			f := FoundHost{Client: Client{filepath.Join(folder, file.Name())}}
			f.Tap, f.Namespace = parseSocketName(f.Path)
			c, err := f.connect(ctx)
			if errors.Is(err, fs.ErrPermission) {
				denied = f.Path
			}
			if err != nil {
				continue // the host no longer runs
			}
			c.Close()
			all = append(all, f)
		}
	}
	return all, denied
}

// Error is the error of a host about a request.
type Error struct {
	text    string
	timeout bool
}

// Error implements error.
func (e *Error) Error() string { return e.text }

// Timeout reports whether the request timed out.
func (e *Error) Timeout() bool { return e.timeout }

// requestConn is a connection on which a request was sent.
type requestConn struct {
	net.Conn
	r    *bufio.Reader
	stop func() bool // stops closing the connection when ctx ends
}

func (c Client) connect(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.Path)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("host: no host answers at %s: check that it is running", c.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	return conn, nil
}

// ask sends a request and reads the first answer. The caller calls stop, and closes the connection.
func (c Client) ask(ctx context.Context, q request) (*requestConn, answer, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, answer{}, err
	}
	l := &requestConn{conn, bufio.NewReaderSize(conn, maxChunk), context.AfterFunc(ctx, func() { conn.Close() })}
	err = writeLine(conn, q)
	var a answer
	if err == nil {
		a, err = l.readAnswer()
	}
	if err != nil {
		l.stop()
		conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, a, err
	}
	return l, a, nil
}

// readAnswer reads an answer.
func (l *requestConn) readAnswer() (a answer, err error) {
	if err = readLine(l.r, maxAnswer, &a); err != nil {
		return a, fmt.Errorf("host: the host did not answer: %w", err)
	}
	if a.Error != "" {
		return a, &Error{a.Error, a.TimedOut}
	}
	return a, nil
}

// askOnce sends a request that has one answer.
func (c Client) askOnce(ctx context.Context, q request) (answer, error) {
	l, a, err := c.ask(ctx, q)
	if err == nil {
		l.stop()
		l.Close()
	}
	return a, err
}

// Status returns the host's state, with at most so many connections.
func (c Client) Status(ctx context.Context, most int) (*Status, error) {
	a, err := c.askOnce(ctx, request{Do: "status", MaxConnections: most})
	if err == nil && a.Status == nil {
		err = errors.New("host: the answer has no status: check that the host runs the same version of weir")
	}
	return a.Status, err
}

// Draw returns a drawing of the net of layers, as Host.Draw does.
func (c Client) Draw(ctx context.Context, form string) (string, error) {
	a, err := c.askOnce(ctx, request{Do: "draw", Type: form})
	return a.Drawing, err
}

// Ping sends an echo request with size bytes of data to an address or a name. It returns the
// address and the round-trip time. After a timeout, the error's method Timeout returns true.
func (c Client) Ping(ctx context.Context, host string, size int, wait time.Duration) (netip.Addr, time.Duration, error) {
	a, err := c.askOnce(ctx, request{Do: "ping", Address: host, Size: size, Timeout: wait})
	if err != nil {
		return netip.Addr{}, 0, err
	}
	to, err := netip.ParseAddr(a.Remote)
	return to, a.Took, err
}

// Lookup asks the host's DNS servers for the records of a name; the type is one of LookupTypes.
func (c Client) Lookup(ctx context.Context, name, kind string) ([]string, error) {
	a, err := c.askOnce(ctx, request{Do: "lookup", Address: name, Type: kind})
	return a.Records, err
}

// Impair sets the impairments of the link with that name, "" for all links, to text in the form of
// ParseImpairment. It returns those in effect, as Host.Impairments does. Nil changes nothing.
func (c Client) Impair(ctx context.Context, link string, text *string) (string, error) {
	a, err := c.askOnce(ctx, request{Do: "impair", Link: link, Impair: text})
	return a.Impair, err
}

// ChangeLink changes the link with that name, as Host.ChangeLink does. It may be "" if the host has
// one link.
func (c Client) ChangeLink(ctx context.Context, name string, change LinkChange) error {
	_, err := c.askOnce(ctx, request{Do: "change", Link: name, Change: &change})
	return err
}

// DialContext connects from the host to an address, "tcp" or "udp". If the connection is reset,
// Read returns the host's error. ctx applies to connecting only.
func (c Client) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	l, a, err := c.ask(ctx, request{Do: "dial", Network: network, Address: address})
	if err != nil {
		return nil, err
	}
	return l.conn(network, a), nil
}

// PendingConn is a listener of the host for a single connection.
type PendingConn struct {
	requestConn *requestConn
	network     string
	addr        net.Addr
}

// Listen listens at an address of the host, such as :8080, for one connection or for the datagrams
// of the first sender. It ends with ctx.
func (c Client) Listen(ctx context.Context, network, address string) (*PendingConn, error) {
	l, a, err := c.ask(ctx, request{Do: "listen", Network: network, Address: address})
	if err != nil {
		return nil, err
	}
	return &PendingConn{l, network, addrOf(network, a.Local)}, nil
}

// Addr returns the address that it listens at.
func (w *PendingConn) Addr() net.Addr { return w.addr }

// Accept waits for the connection. It may be called once. The error is ctx's, or the host's.
func (w *PendingConn) Accept() (net.Conn, error) {
	a, err := w.requestConn.readAnswer()
	if err != nil {
		w.Close()
		return nil, err
	}
	return w.requestConn.conn(w.network, a), nil
}

// Close closes the listener.
func (w *PendingConn) Close() error {
	w.requestConn.stop()
	return w.requestConn.Close()
}

// Conn is a connection of the host: a net.Conn. CloseWrite closes its sending direction.
type Conn struct {
	*chunkConn
	local, remote net.Addr
}

// conn returns the connection that an answer announces. From here on it is independent of ctx.
func (l *requestConn) conn(network string, a answer) *Conn {
	l.stop()
	return &Conn{newChunkConn(l.Conn, l.r, network), addrOf(network, a.Local), addrOf(network, a.Remote)}
}

// LocalAddr implements net.Conn. The address is the host's.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

func addrOf(network, text string) net.Addr {
	a, _ := netip.ParseAddrPort(text) // an invalid address of the host is the zero address
	if network == "udp" {
		return net.UDPAddrFromAddrPort(a)
	}
	return net.TCPAddrFromAddrPort(a)
}
