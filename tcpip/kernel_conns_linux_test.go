package tcpip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/nettest"
)

// A connection between the stack and the kernel behaves like one of package net at both ends,
// whichever end dials, with and without offloads, with both concurrency models and both versions of
// IP, which alternate.
func TestKernelConnsAreThoseOfNet(t *testing.T) {
	for i, c := range []struct {
		name  string
		plain bool
		run   Run
	}{{"superframes", false, RunChain}, {"segments", true, RunChain}, {"network", false, RunNetwork}} {
		p := kernel(t, c.plain, func(cfg *Config) { cfg.Run = c.run })
		for k, stackDials := range []bool{true, false} {
			p.of = bothEnds[(i+k)%2]
			t.Run(fmt.Sprintf("%s/%s/dialed=%t", c.name, p.of.name, stackDials), func(t *testing.T) {
				nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
					a, b := p.pair(t, stackDials)
					return a, b, func() { a.Close(); b.Close() }, nil
				})
			})
		}
	}
}

// Short connections run in parallel, half dialed by the kernel, half by the stack, and half of each
// by IPv6. The dialing end sends a request. Either end closes first.
func TestKernelOpensShortConnections(t *testing.T) {
	const each, clients = 5000, 8
	p := kernel(t, false)
	ours := listen(t, p.stack, ":80")
	kernels := p.listen(t, ":80")
	var served atomic.Int64
	var servers sync.WaitGroup
	for _, l := range []net.Listener{ours, kernels} {
		servers.Go(func() { servePairs(l, &served) }) // until its listener is closed
	}
	errs := make(chan error, 2*clients) // clients -> the test: one result of each
	for i := range clients {
		of := bothEnds[i%2]
		go func() {
			errs <- p.inside(func() error { return askOften(kernelDial, net.JoinHostPort(of.stack, "80"), each/clients, i) })
		}()
		go func() {
			dial := func(address string) (net.Conn, error) { return p.stack.Dial("tcp", address) }
			errs <- askOften(dial, net.JoinHostPort(of.kernel, "80"), each/clients, i)
		}()
	}
	for range 2 * clients {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	ours.Close()
	kernels.Close()
	servers.Wait()
	if served.Load() != 2*each {
		t.Errorf("%d connections were served, want %d", served.Load(), 2*each)
	}
	if p.stack.held() != 0 {
		t.Errorf("closed connections hold %d bytes of buffers, want 0", p.stack.held())
	}
}

// servePairs answers each request with its reversed bytes, and closes every second connection
// first.
func servePairs(l net.Listener, served *atomic.Int64) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() {
			defer c.Close()
			var q [8]byte
			if _, err := io.ReadFull(c, q[:]); err != nil {
				return
			}
			a := q
			for i := range a {
				a[i] = q[len(q)-1-i]
			}
			c.Write(a[:]) //nolint:errcheck // the client tells
			if q[7]%2 == 0 {
				io.Copy(io.Discard, c) //nolint:errcheck // the test checks its effect
			}
			served.Add(1)
		})
	}
}

// askOften makes several connections, one after the other.
func askOften(dial func(string) (net.Conn, error), address string, n, who int) error {
	for i := range n {
		c, err := dial(address)
		if err != nil {
			return fmt.Errorf("connection %d of client %d: %w", i, who, err)
		}
		q := binary.BigEndian.AppendUint64(nil, uint64(who)<<32|uint64(i))
		a := make([]byte, 8)
		_, err = c.Write(q)
		if err == nil {
			_, err = io.ReadFull(c, a)
		}
		if err == nil && i%2 == 1 { // the server closes first
			var end [1]byte
			if _, err = c.Read(end[:]); errors.Is(err, io.EOF) {
				err = nil
			}
		}
		c.Close()
		for k := range q[:4] {
			q[k], q[7-k] = q[7-k], q[k]
		}
		if err != nil || !bytes.Equal(a, q) {
			return fmt.Errorf("connection %d of client %d: %x, want %x (%v)", i, who, a, q, err)
		}
	}
	return nil
}
