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

// serve answers the control socket's clients until ctx ends, and returns when they are gone.
func (h *Host) serve(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { h.control.Close() })()
	var clients sync.WaitGroup
	defer clients.Wait()
	slots := make(chan struct{}, clientsMost) // a client takes one, and gives it back
	for ctx.Err() == nil {
		c, err := h.control.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) { // there are no more file descriptors, or so
				time.Sleep(10 * time.Millisecond)
			}
			continue
		}
		select {
		case slots <- struct{}{}:
			clients.Go(func() {
				h.attend(ctx, c)
				<-slots
			})
		default:
			writeLine(c, answer{Error: fmt.Sprintf("host: %d programs use this host already, which is the most: end one", clientsMost)}) //nolint:errcheck // it is told, or gone
			c.Close()
		}
	}
}

// client is one that is served.
type client struct {
	h    *Host
	conn net.Conn
	r    *bufio.Reader
	// no values, closed when something has come behind the request, or nothing will
	more chan struct{}
}

// attend serves a client.
func (h *Host) attend(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	c := &client{h: h, conn: conn, r: bufio.NewReaderSize(conn, chunkMost), more: make(chan struct{})}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	conn.SetReadDeadline(time.Now().Add(requestWait)) //nolint:errcheck // reading tells
	var q request
	err := readLine(c.r, requestMost, &q)
	conn.SetReadDeadline(time.Time{}) //nolint:errcheck // reading tells
	var watcher sync.WaitGroup
	defer watcher.Wait()
	defer conn.Close()
	defer cancel()
	if err != nil {
		c.tell(answer{Error: err.Error()})
		return
	}
	watcher.Go(func() { // until something comes, or the client is gone
		defer close(c.more)
		if _, err := c.r.Peek(1); err != nil {
			cancel()
		}
	})
	if err := c.do(ctx, &q); err != nil {
		var late interface{ Timeout() bool }
		c.tell(answer{Error: err.Error(), Late: errors.As(err, &late) && late.Timeout()})
	}
}

func (c *client) tell(a answer) error { return writeLine(c.conn, a) }

// do does what is asked for, and answers it, unless there is an error.
func (c *client) do(ctx context.Context, q *request) error {
	if q.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.Timeout)
		defer cancel()
	}
	switch q.Do {
	case "status":
		return c.tell(answer{Status: c.h.Status(q.Most)})
	case "draw":
		drawing, err := c.h.Draw(q.Type)
		if err != nil {
			return err
		}
		return c.tell(answer{Drawing: drawing})
	case "ping":
		return c.ping(ctx, q)
	case "lookup":
		records, err := c.h.lookup(ctx, q.Address, q.Type)
		if err != nil {
			return err
		}
		return c.tell(answer{Records: records})
	case "impair":
		return c.impair(q)
	case "dial":
		return c.dial(ctx, q)
	case "listen":
		return c.listen(ctx, q)
	}
	return fmt.Errorf("host: %q is nothing that this host can do: is its weir older than yours?", q.Do)
}

// pingMost is how much data an echo carries at most: so much fits into a packet.
const pingMost = 65507

func (c *client) ping(ctx context.Context, q *request) error {
	if q.Size < 0 || q.Size > pingMost {
		return fmt.Errorf("host: a ping of %d bytes: make it 0 to %d", q.Size, pingMost)
	}
	to, err := c.resolve(ctx, q.Address)
	if err != nil {
		return err
	}
	took, err := c.h.stack.Ping(ctx, to, q.Size)
	if err != nil {
		return err
	}
	return c.tell(answer{Remote: to.String(), Took: took})
}

// resolve is the address that a host has.
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
			err = c.h.Impair(i)
		}
		if err != nil {
			return err
		}
	}
	return c.tell(answer{Impair: ImpairmentText(c.h.Impairment())})
}

func (c *client) dial(ctx context.Context, q *request) error {
	conn, err := c.h.stack.DialContext(ctx, q.Network, q.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := c.tell(answer{Local: conn.LocalAddr().String(), Remote: conn.RemoteAddr().String()}); err != nil {
		return err
	}
	c.relay(conn, q.Network)
	return nil
}

// listen takes one connection, or the datagrams of who sends the first one.
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
	if err := c.tell(answer{Local: local.String()}); err != nil {
		return err
	}
	conn, err := take()
	if err != nil {
		return err
	}
	defer conn.Close()
	if q.Network != "udp" {
		end.Close() // one connection is what was asked for: others are refused
	}
	if err := c.tell(answer{Local: conn.LocalAddr().String(), Remote: conn.RemoteAddr().String()}); err != nil {
		return err
	}
	c.relay(conn, q.Network)
	return nil
}

// relay carries a connection's bytes to the client, and the client's to it, until both have said
// that there are no more, or one is gone.
func (c *client) relay(conn net.Conn, network string) {
	s := newChunks(c.conn, c.r, network)
	// no values, closed when the client has said that there is no more, or is gone
	sent := make(chan struct{})
	var down sync.WaitGroup
	down.Go(func() { // until the client is gone, at the latest because it is closed below
		defer conn.Close()
		<-c.more
		err := pour(conn, s)
		close(sent)
		if err != nil {
			return
		}
		closeWrite(conn)
		c.r.Peek(1) //nolint:errcheck // there is no more: it returns when the client is gone
	})
	if err := pour(s, conn); err == nil || !errors.Is(err, net.ErrClosed) {
		s.finish(err) //nolint:errcheck // it is told, or gone
	}
	<-sent
	c.conn.Close()
	down.Wait()
}

// pour copies until the end. Each Read is one Write, so that a datagram stays one.
func pour(to io.Writer, from io.Reader) error {
	for b := make([]byte, chunkMost); ; {
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

// peer is a socket that speaks with one other only.
type peer struct {
	net.PacketConn
	addr  net.Addr
	first []byte // a datagram that has come already; nil: none
}

// firstPeer waits for somebody to send a datagram.
func firstPeer(p net.PacketConn) (net.Conn, error) {
	b := make([]byte, chunkMost)
	n, from, err := p.ReadFrom(b)
	return &peer{p, from, b[:n]}, err
}

// Read implements net.Conn.
func (p *peer) Read(b []byte) (int, error) {
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
func (p *peer) Write(b []byte) (int, error) { return p.WriteTo(b, p.addr) }

// RemoteAddr implements net.Conn.
func (p *peer) RemoteAddr() net.Addr { return p.addr }
