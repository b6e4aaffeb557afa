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

// Client uses a host that runs in another process, by its control socket. Each call is a connection
// of its own; calls may be made by any goroutine.
type Client struct{ Path string }

// Found is a host that runs.
type Found struct {
	Client
	Tap, Namespace string
}

// Find gives the hosts whose control sockets are in these folders and answer. denied is the path of
// one that the caller may not use, or of a folder that he may not look into; empty: there is none.
func Find(ctx context.Context, folders ...string) (all []Found, denied string) {
	for _, folder := range folders {
		files, err := os.ReadDir(folder)
		if errors.Is(err, fs.ErrPermission) {
			denied = folder
		}
		for _, file := range files {
			if filepath.Ext(file.Name()) != ".sock" {
				continue
			}
			f := Found{Client: Client{filepath.Join(folder, file.Name())}}
			f.Tap, f.Namespace = named(f.Path)
			c, err := f.connect(ctx)
			if errors.Is(err, fs.ErrPermission) {
				denied = f.Path
			}
			if err != nil {
				continue // it is no more
			}
			c.Close()
			all = append(all, f)
		}
	}
	return all, denied
}

// Error is what a host says when it could not do what it was asked.
type Error struct {
	text string
	late bool
}

// Error implements error.
func (e *Error) Error() string { return e.text }

// Timeout says whether it took too long.
func (e *Error) Timeout() bool { return e.late }

// line is a connection that a request was sent on.
type line struct {
	net.Conn
	r    *bufio.Reader
	stop func() bool // of ctx's watch
}

func (c Client) connect(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.Path)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("host: no host answers at %s: is it running?", c.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	return conn, nil
}

// ask sends a request and reads the first answer. The line is the caller's to close, after calling
// stop.
func (c Client) ask(ctx context.Context, q request) (*line, answer, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, answer{}, err
	}
	l := &line{conn, bufio.NewReaderSize(conn, chunkMost), context.AfterFunc(ctx, func() { conn.Close() })}
	err = writeLine(conn, q)
	var a answer
	if err == nil {
		a, err = l.answer()
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

// answer reads one.
func (l *line) answer() (a answer, err error) {
	if err = readLine(l.r, answerMost, &a); err != nil {
		return a, fmt.Errorf("host: the host did not answer: %w", err)
	}
	if a.Error != "" {
		return a, &Error{a.Error, a.Late}
	}
	return a, nil
}

// once asks for what one answer tells.
func (c Client) once(ctx context.Context, q request) (answer, error) {
	l, a, err := c.ask(ctx, q)
	if err == nil {
		l.stop()
		l.Close()
	}
	return a, err
}

// Status is how the host is. It lists at most so many connections.
func (c Client) Status(ctx context.Context, most int) (*Status, error) {
	a, err := c.once(ctx, request{Do: "status", Most: most})
	if err == nil && a.Status == nil {
		err = errors.New("host: the host said nothing of its status: is its weir another one?")
	}
	return a.Status, err
}

// Draw is the network that packets go through, with what has passed each edge, as Host.Draw gives
// it.
func (c Client) Draw(ctx context.Context, form string) (string, error) {
	a, err := c.once(ctx, request{Do: "draw", Type: form})
	return a.Drawing, err
}

// Ping asks a host, by its address or its name, whether it is there, with size bytes of data; the
// answer says which address that is, and how long it took. The error has a method Timeout when
// there was no answer in time.
func (c Client) Ping(ctx context.Context, host string, size int, wait time.Duration) (netip.Addr, time.Duration, error) {
	a, err := c.once(ctx, request{Do: "ping", Address: host, Size: size, Timeout: wait})
	if err != nil {
		return netip.Addr{}, 0, err
	}
	to, err := netip.ParseAddr(a.Remote)
	return to, a.Took, err
}

// Lookup asks the host's name servers for the records of a name, of one of LookupTypes.
func (c Client) Lookup(ctx context.Context, name, kind string) ([]string, error) {
	a, err := c.once(ctx, request{Do: "lookup", Address: name, Type: kind})
	return a.Records, err
}

// Impair has the host's link spoilt as text says, in the form of ParseImpairment, and says how it
// then is. Nil changes nothing.
func (c Client) Impair(ctx context.Context, text *string) (string, error) {
	a, err := c.once(ctx, request{Do: "impair", Impair: text})
	return a.Impair, err
}

// DialContext connects to an address, "tcp" or "udp", from the host. What the connection's Read
// says when it was reset is the host's error. ctx is for connecting only.
func (c Client) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	l, a, err := c.ask(ctx, request{Do: "dial", Network: network, Address: address})
	if err != nil {
		return nil, err
	}
	return l.conn(network, a), nil
}

// Waiting is a port of the host's that one connection is awaited at.
type Waiting struct {
	line    *line
	network string
	addr    net.Addr
}

// Listen takes one connection, or the datagrams of who sends the first one, at an address of the
// host's: :8080. It ends with ctx.
func (c Client) Listen(ctx context.Context, network, address string) (*Waiting, error) {
	l, a, err := c.ask(ctx, request{Do: "listen", Network: network, Address: address})
	if err != nil {
		return nil, err
	}
	return &Waiting{l, network, addrOf(network, a.Local)}, nil
}

// Addr is where.
func (w *Waiting) Addr() net.Addr { return w.addr }

// Accept waits for the connection. It is called once. The error is that ctx has ended, or the
// host's.
func (w *Waiting) Accept() (net.Conn, error) {
	a, err := w.line.answer()
	if err != nil {
		w.Close()
		return nil, err
	}
	return w.line.conn(w.network, a), nil
}

// Close ends the wait.
func (w *Waiting) Close() error {
	w.line.stop()
	return w.line.Close()
}

// Conn is a connection of a host's: a net.Conn, of which CloseWrite ends what is sent.
type Conn struct {
	*chunks
	local, remote net.Addr
}

// conn is what follows an answer. From here on the connection is not ctx's any more.
func (l *line) conn(network string, a answer) *Conn {
	l.stop()
	return &Conn{newChunks(l.Conn, l.r, network), addrOf(network, a.Local), addrOf(network, a.Remote)}
}

// LocalAddr implements net.Conn: it is the host's.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

func addrOf(network, text string) net.Addr {
	a, _ := netip.ParseAddrPort(text) // the host wrote it; if not, it is none
	if network == "udp" {
		return net.UDPAddrFromAddrPort(a)
	}
	return net.TCPAddrFromAddrPort(a)
}
