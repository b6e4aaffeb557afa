package http

import (
	"errors"
	"fmt"
	"net"

	"weir/lab/contract"
	"weir/lab/workload/http/httpload"
)

// Needs is what a load with described requests needs of a server. A server of any making can be
// checked for that alone; it does not have to serve the files of this project.
type Needs struct {
	// at least one; those that httpload.CheckMix accepts; gRPC calls only with HTTP2
	Requests    []httpload.Request
	KeepAlive   bool // a connection takes several requests
	Connections int  // that are open at once; 0: one
	Encryption
	HTTP2   bool // by ALPN, or without TLS with prior knowledge; else HTTP/1.1
	Streams int  // requests at once on a connection of HTTP/2; 0: one
}

// maxVisitors bounds how many connections the check of Needs.Connections opens.
const maxVisitors = 100

// Contract returns the contract of a server for the load: that it listens, answers every described
// request as described, survives clients that leave, and ends by SIGTERM with all its processes.
// Its connections are persistent, concurrent, encrypted or of HTTP/2 if the load needs that. It may
// print what it likes.
// A request that cannot be sent, such as one with a blank in its method, fails the first check.
func (n Needs) Contract() contract.Kind {
	k := contract.Kind{Workloads: []string{Requests}, Prepare: n.prepare}
	for _, c := range []struct {
		needed bool
		name   string
		run    func(Needs, *bench)
	}{
		{true, "answer", Needs.answer},
		{n.KeepAlive, "keep-alive", Needs.keepAlive},
		{n.Connections > 1, "connections", Needs.connections},
		{n.Streams > 1, "streams", Needs.streams},
		{true, "clients that leave", Needs.leave},
		{true, "SIGTERM", Needs.stop},
	} {
		if c.needed {
			run := contract.On(func(b *bench) { c.run(n, b) })
			k.Checks = append(k.Checks, contract.Check{Name: c.name, Shares: true, Run: run})
		}
	}
	return k
}

// prepare makes what a server needs, with a certificate for a server that takes one.
func (n Needs) prepare(c *contract.Bench) {
	prepare(c)
	n.Prepare(c)
}

// answer checks that each request is answered, on a connection of its own.
func (n Needs) answer(b *bench) {
	for _, r := range n.Requests {
		v := n.visit(b)
		v.ask(r, !n.KeepAlive)
		v.Close()
	}
}

// keepAlive checks fifty requests on one connection.
func (n Needs) keepAlive(b *bench) {
	v := n.visit(b)
	for i := range 50 {
		err := contract.Try(func() { v.ask(n.Requests[i%len(n.Requests)], false) })
		ended := errors.Is(err, contract.ErrEnded) || errors.Is(err, contract.ErrReset)
		contract.Expect(!ended || n.HTTP2, "request %d on one connection: %w (a load with a connection for each request, --no-keep-alive, does not need this)", i+1, err)
		contract.Expect(err == nil, "request %d on one connection: %w", i+1, err)
	}
	v.Close()
}

// connections checks that connections that are open at once are all served.
func (n Needs) connections(b *bench) {
	all := make([]visitor, min(n.Connections, maxVisitors))
	for i := range all {
		all[i] = n.visit(b)
	}
	contract.During(fmt.Sprintf("on one of %d connections", len(all)), func() {
		contract.InParallel(len(all), func(i int) { all[i].ask(n.Requests[i%len(n.Requests)], !n.KeepAlive) })
	})
	for _, v := range all {
		v.Close()
	}
}

// streams checks that requests that are made at once on one connection are all answered.
func (n Needs) streams(b *bench) {
	v, all := n.visit(b), min(n.Streams, maxVisitors)
	contract.During(fmt.Sprintf("on one of %d streams", all), func() {
		contract.InParallel(all, func(i int) { v.ask(n.Requests[i%len(n.Requests)], false) })
	})
	v.Close()
}

// leave checks that the server survives clients that leave before they have a response.
func (n Needs) leave(b *bench) {
	text := n.firstBytes(b)
	for _, client := range []struct {
		what, sends string
		secured     bool // the TLS handshake is complete
		leave       func(*net.TCPConn)
	}{
		{"sends nothing", "", false, func(c *net.TCPConn) { c.Close() }},
		{"leaves in the middle of the TLS handshake", tlsHello, false, func(c *net.TCPConn) { c.Close() }},
		{"leaves in the middle of a request", text[:len(text)/2], true, func(c *net.TCPConn) { c.Close() }},
		{"resets its connection", text, true, contract.Reset},
	} {
		if client.sends == tlsHello && !n.TLS {
			continue
		}
		connect := b.dial
		if client.secured {
			connect = func() *conn { return n.open(b) }
		}
		v := connect()
		v.write(client.sends)
		client.leave(v.TCPConn)
		contract.During("after a client that "+client.what, func() { n.answer(b) })
	}
}

// stop checks that SIGTERM ends the server, which the last check of a server is charged with. The
// connection of a client that was served is still open, if the server keeps it.
func (n Needs) stop(b *bench) { n.visit(b).ask(n.Requests[0], !n.KeepAlive) }
