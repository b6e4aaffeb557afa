package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// serveControl answers the control socket's clients until ctx ends, and returns when they are gone.
func (h *Host) serveControl(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { h.control.Close() })()
	var clients sync.WaitGroup
	defer clients.Wait()
	slots := make(chan struct{}, maxClients) // one element for each client
	for ctx.Err() == nil {
		c, err := h.control.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) { // for example, there are no free file descriptors
				time.Sleep(10 * time.Millisecond)
			}
			continue
		}
		select {
		case slots <- struct{}{}:
			clients.Go(func() {
				h.serveClient(ctx, c)
				<-slots
			})
		default:
			writeLine(c, answer{Error: fmt.Sprintf("host: %d programs use this host already, which is the limit: end one", maxClients)}) //nolint:errcheck // it is told, or gone
			c.Close()
		}
	}
}

// client is a connected client of the control socket.
type client struct {
	h    *Host
	conn net.Conn
	r    *bufio.Reader
	// closed when bytes after the request have arrived, or the client is gone; no values
	moreInput chan struct{}
}

// serveClient serves a client.
func (h *Host) serveClient(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	c := &client{h: h, conn: conn, r: bufio.NewReaderSize(conn, maxChunk), moreInput: make(chan struct{})}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	conn.SetReadDeadline(time.Now().Add(requestTimeout)) //nolint:errcheck // reading tells
	var q request
	err := readLine(c.r, maxRequest, &q)
	conn.SetReadDeadline(time.Time{}) //nolint:errcheck // reading tells
	var watcher sync.WaitGroup
	defer watcher.Wait()
	defer conn.Close()
	defer cancel()
	if err != nil {
		c.respond(answer{Error: err.Error()})
		return
	}
	watcher.Go(func() { // until bytes arrive or the client is gone
		defer close(c.moreInput)
		if _, err := c.r.Peek(1); err != nil {
			cancel()
		}
	})
	if err := c.do(ctx, &q); err != nil {
		var late interface{ Timeout() bool }
		c.respond(answer{Error: err.Error(), TimedOut: errors.As(err, &late) && late.Timeout()})
	}
}

func (c *client) respond(a answer) error { return writeLine(c.conn, a) }

// do executes a request and answers it. It returns an error instead if it fails.
func (c *client) do(ctx context.Context, q *request) error {
	if q.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.Timeout)
		defer cancel()
	}
	switch q.Do {
	case "status":
		return c.respond(answer{Status: c.h.Status(q.MaxConnections)})
	case "draw":
		drawing, err := c.h.Draw(q.Type)
		if err != nil {
			return err
		}
		return c.respond(answer{Drawing: drawing})
	case "ping":
		return c.ping(ctx, q)
	case "lookup":
		records, err := c.h.lookup(ctx, q.Address, q.Type)
		if err != nil {
			return err
		}
		return c.respond(answer{Records: records})
	case "impair":
		return c.impair(q)
	case "change":
		if q.Change == nil {
			return fmt.Errorf("host: the request says no change of %s: check that the host runs the same version of weir", q.Link)
		}
		if err := c.h.ChangeLink(q.Link, *q.Change); err != nil {
			return err
		}
		return c.respond(answer{})
	case "dial":
		return c.dial(ctx, q)
	case "listen":
		return c.listen(ctx, q)
	}
	return fmt.Errorf("host: unknown request %q: check that the host runs the same version of weir", q.Do)
}

// maxPingSize is the maximum of data in an echo request of one packet.
const maxPingSize = 65507

func (c *client) ping(ctx context.Context, q *request) error {
	if q.Size < 0 || q.Size > maxPingSize {
		return fmt.Errorf("host: a ping of %d bytes: use 0 to %d", q.Size, maxPingSize)
	}
	to, err := c.resolve(ctx, q.Address)
	if err != nil {
		return err
	}
	took, err := c.h.stack.Ping(ctx, to, q.Size)
	if err != nil {
		return err
	}
	return c.respond(answer{Remote: to.String(), Took: took})
}

// resolve returns the address of a host, given its name or address.
func (c *client) resolve(ctx context.Context, name string) (netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return a, nil
	}
	all, err := c.h.lookup(ctx, name, "A")
	if err != nil {
		return netip.Addr{}, err
	}
	return netip.ParseAddr(all[0])
}

func (c *client) impair(q *request) error {
	if q.Impair != nil {
		i, err := ParseImpairment(*q.Impair)
		if err == nil {
			err = c.h.Impair(q.Link, i)
		}
		if err != nil {
			return err
		}
	}
	now, err := c.h.Impairments(q.Link)
	if err != nil {
		return err
	}
	return c.respond(answer{Impair: now})
}

func (c *client) dial(ctx context.Context, q *request) error {
	conn, err := c.h.stack.DialContext(ctx, q.Network, q.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := c.respond(answer{Local: conn.LocalAddr().String(), Remote: conn.RemoteAddr().String()}); err != nil {
		return err
	}
	c.relay(conn, q.Network)
	return nil
}

// listen waits for one connection, or for the datagrams of the first sender.
func (c *client) listen(ctx context.Context, q *request) error {
	var local net.Addr
	var take func() (net.Conn, error)
	var end io.Closer
	if q.Network == "udp" {
		p, err := c.h.stack.ListenPacket("udp", q.Address)
		if err != nil {
			return err
		}
		local, end, take = p.LocalAddr(), p, func() (net.Conn, error) { return firstPeer(p) }
	} else {
		l, err := c.h.stack.Listen(q.Network, q.Address)
		if err != nil {
			return err
		}
		local, end, take = l.Addr(), l, l.Accept
	}
	defer end.Close()
	defer context.AfterFunc(ctx, func() { end.Close() })()
	if err := c.respond(answer{Local: local.String()}); err != nil {
		return err
	}
	conn, err := take()
	if err != nil {
		return err
	}
	defer conn.Close()
	if q.Network != "udp" {
		end.Close() // only one connection was asked for: others are refused
	}
	if err := c.respond(answer{Local: conn.LocalAddr().String(), Remote: conn.RemoteAddr().String()}); err != nil {
		return err
	}
	c.relay(conn, q.Network)
	return nil
}

// relay copies data between a connection and the client in both directions, until both have
// finished or one is gone.
func (c *client) relay(conn net.Conn, network string) {
	s := newChunkConn(c.conn, c.r, network)
	// closed when the client has sent its end, or is gone; no values
	sent := make(chan struct{})
	var down sync.WaitGroup
	down.Go(func() { // until the client is gone, at the latest when it is closed below
		defer conn.Close()
		<-c.moreInput
		err := copyReads(conn, s)
		close(sent)
		if err != nil {
			return
		}
		closeWrite(conn)
		c.r.Peek(1) //nolint:errcheck // there is no more: it returns when the client is gone
	})
	if err := copyReads(s, conn); err == nil || !errors.Is(err, net.ErrClosed) {
		s.endWrite(err) //nolint:errcheck // it is told, or gone
	}
	<-sent
	c.conn.Close()
	down.Wait()
}

// copyReads copies until the end. Each Read becomes one Write, so that datagrams are preserved.
func copyReads(to io.Writer, from io.Reader) error {
	for b := make([]byte, maxChunk); ; {
		n, err := from.Read(b)
		if n > 0 || err == nil {
			if _, err := to.Write(b[:n]); err != nil {
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

// udpPeer is a socket that talks with one peer only.
type udpPeer struct {
	net.PacketConn
	addr  net.Addr
	first []byte // the first datagram until it is read; nil: none
}

// firstPeer waits for a datagram, and returns a connection with its sender.
func firstPeer(p net.PacketConn) (net.Conn, error) {
	b := make([]byte, maxChunk)
	n, from, err := p.ReadFrom(b)
	return &udpPeer{p, from, b[:n]}, err
}

// Read implements net.Conn.
func (p *udpPeer) Read(b []byte) (int, error) {
	if p.first != nil {
		n := copy(b, p.first)
		p.first = nil
		return n, nil
	}
	for {
		n, from, err := p.ReadFrom(b)
		if err != nil || from.String() == p.addr.String() {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (p *udpPeer) Write(b []byte) (int, error) { return p.WriteTo(b, p.addr) }

// RemoteAddr implements net.Conn.
func (p *udpPeer) RemoteAddr() net.Addr { return p.addr }
