package grpc

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"weir/lab/contract"
	"weir/lab/workload/http/httpload"
)

// visitors is how many connections at once the contract of the greeting opens.
const visitors = 64

// Limits of the checks, so that a large load is checked in seconds.
const (
	maxVisitors = 100 // connections, and streams of one
	ordinary    = 50  // calls on one connection
)

// needs is what a load needs of a server.
type needs struct {
	call        httpload.Request
	streams     int
	connections int
}

// Contract returns the contract of a server for the load: that it answers the call as described, on
// as many connections and streams as the load has, survives clients that leave, and ends by SIGTERM
// with all its processes. It may print what it likes. The client is that of net/http.
func (l *Load) Contract(connections int) contract.Kind {
	call, err := l.call()
	n := needs{call, max(l.Streams, 1), connections}
	k := contract.Kind{Workloads: []string{Name}, Prepare: func(*contract.Bench) { contract.Must(err) }}
	for _, c := range []struct {
		name string
		run  func(*contract.Bench)
	}{
		{"answer", n.answer},
		{"keep-alive", n.keepAlive},
		{"streams", n.manyStreams},
		{"connections", n.manyConnections},
		{"clients that leave", n.leave},
		{"SIGTERM", n.answer},
	} {
		k.Checks = append(k.Checks, contract.Check{Name: c.name, Shares: true, Run: c.run})
	}
	return k
}

// client makes calls on one connection. It is independent of the load generator.
type client struct {
	b         *contract.Bench
	conn      *net.TCPConn
	transport *http.Transport
}

// dial connects; the end of the round closes the connection.
func dial(b *contract.Bench) *client {
	c := &client{b: b, conn: b.Dial(), transport: &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}}
	c.transport.Protocols.SetUnencryptedHTTP2(true)
	given := false
	c.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		if given {
			return nil, contract.ErrEnded // a call needs a second connection
		}
		given = true
		return c.conn, nil
	}
	return c
}

func (c *client) close() {
	c.transport.CloseIdleConnections()
	c.conn.Close()
}

// callOnce makes a call and judges its answer.
func (c *client) callOnce(r httpload.Request) {
	contract.During(r.Path, func() {
		ctx, cancel := context.WithTimeout(c.b.Context, c.b.Timeout)
		defer cancel()
		a, err := c.transport.RoundTrip(c.request(ctx, r))
		contract.Expect(err == nil, "expected an answer by HTTP/2 with prior knowledge: %w", contract.DescribeError(err))
		defer a.Body.Close()
		body, err := io.ReadAll(io.LimitReader(a.Body, httpload.MaxBody))
		contract.Expect(err == nil, "expected a whole answer, saw %d bytes: %w", len(body), contract.DescribeError(err))
		judge(r, a, body)
	})
}

// request returns a call as gRPC's PROTOCOL-HTTP2 has it.
func (c *client) request(ctx context.Context, r httpload.Request) *http.Request {
	prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(r.Body)))
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.b.Addr()+r.Path, strings.NewReader(string(prefix)+r.Body))
	contract.Must(err)
	for name, value := range map[string]string{"Content-Type": "application/grpc", "Te": "trailers", "User-Agent": "weir"} {
		out.Header.Set(name, value)
	}
	for _, field := range r.Headers {
		name, value, _ := strings.Cut(field, ":")
		out.Header.Add(name, strings.TrimSpace(value))
	}
	return out
}

// judge judges an answer: its type, its status in the trailers or in a head without a body, and its
// message.
func judge(r httpload.Request, a *http.Response, body []byte) {
	contract.Expect(a.StatusCode == http.StatusOK, "expected HTTP status 200, saw %s: the server does not speak gRPC at this path", a.Status)
	kind := a.Header.Get("Content-Type")
	contract.Expect(strings.HasPrefix(kind, "application/grpc"), "expected Content-Type application/grpc, saw %q", kind)
	fields := a.Trailer
	if len(body) == 0 && fields.Get("Grpc-Status") == "" {
		fields = a.Header
	}
	text := fields.Get("Grpc-Status")
	contract.Expect(text != "", "expected grpc-status in the trailers, saw none")
	want, _ := r.Status.GRPC()
	status, ok := httpload.Status(text).GRPC()
	contract.Expect(ok, "expected a grpc-status from 0 to 16, saw %.20q", text)
	contract.Expect(status == want, "expected status %v, saw %v: %.200q", want, status, cmp.Or(fields.Get("Grpc-Message"), "without a reason"))
	if want != 0 {
		return
	}
	contract.Expect(len(body) >= 5, "expected a message with a prefix of 5 bytes, saw %d bytes", len(body))
	contract.Expect(body[0] == 0, "expected a message that is not compressed, saw the flag %d", body[0])
	length := binary.BigEndian.Uint32(body[1:])
	contract.Expect(int(length) == len(body)-5, "expected one message, saw a length of %d before %d bytes", length, len(body)-5)
	r.Status = "200"
	contract.Must(r.Judge(http.StatusOK, body[5:]))
}

// answer checks that the call is answered.
func (n needs) answer(b *contract.Bench) {
	c := dial(b)
	c.callOnce(n.call)
	c.close()
}

// keepAlive checks calls on one connection, one after the other.
func (n needs) keepAlive(b *contract.Bench) {
	c := dial(b)
	for i := range ordinary {
		contract.During(fmt.Sprintf("call %d on one connection", i+1), func() { c.callOnce(n.call) })
	}
	c.close()
}

// manyStreams checks calls on one connection at once.
func (n needs) manyStreams(b *contract.Bench) {
	c, all := dial(b), min(n.streams, maxVisitors)
	c.callOnce(n.call) // HTTP/2 is open from here on
	contract.During(fmt.Sprintf("with %d calls at once", all), func() {
		contract.InParallel(all, func(int) { c.callOnce(n.call) })
	})
	c.close()
}

// manyConnections checks that connections that are open at once are all served.
func (n needs) manyConnections(b *contract.Bench) {
	all := make([]*client, min(n.connections, maxVisitors))
	for i := range all {
		all[i] = dial(b)
	}
	contract.During(fmt.Sprintf("on one of %d connections", len(all)), func() {
		contract.InParallel(len(all), func(i int) { all[i].callOnce(n.call) })
	})
	for _, c := range all {
		c.close()
	}
}

// start is the preface of a client of HTTP/2, with empty SETTINGS (RFC 9113, section 3.4).
const start = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// leave checks that the server survives clients that leave before they have an answer.
func (n needs) leave(b *contract.Bench) {
	for _, client := range []struct {
		what, sends string
		leave       func(*net.TCPConn)
	}{
		{"sends nothing", "", func(c *net.TCPConn) { c.Close() }},
		{"leaves in the middle of the preface", start[:10], func(c *net.TCPConn) { c.Close() }},
		{"resets its connection", start, contract.Reset},
	} {
		c := b.Dial()
		contract.WriteText(c, client.sends)
		client.leave(c)
		contract.During("after a client that "+client.what, func() { n.answer(b) })
	}
}
