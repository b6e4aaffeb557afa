package websocket

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"

	"github.com/coder/websocket"

	"weir/lab/contract"
	"weir/lab/internal/tlsclient"
)

// needs is what a load needs of a server over a number of connections.
type needs struct {
	*Load
	connections int
}

// bench is a server under a check.
type bench struct{ *contract.Bench }

// maxVisitors bounds how many connections the checks open at once, manyMessages how many messages
// they send on one.
const (
	maxVisitors  = 100
	manyMessages = 50
)

// contract returns the contract of a server for the load: that it accepts an upgrade, answers every
// message, also on many connections, survives clients that leave, and ends by SIGTERM. The client
// is independent of the generator.
func (n needs) contract() contract.Kind {
	k := contract.Kind{Workloads: []string{Name}, Prepare: n.prepare}
	for _, c := range []struct {
		needed bool
		name   string
		run    func(needs, *bench)
	}{
		{true, "upgrade", needs.upgrade},
		{true, "answers", needs.answers},
		{n.connections > 1, "connections", needs.manyConnections},
		{true, "clients that leave", needs.leave},
		{true, "SIGTERM", needs.stop},
	} {
		if c.needed {
			k.Checks = append(k.Checks, contract.Check{Name: c.name, Shares: true, Run: contract.On(func(b *bench) { c.run(n, b) })})
		}
	}
	return k
}

func (n needs) prepare(c *contract.Bench) {
	c.State = &bench{c}
	n.Prepare(c)
}

// visitor is a client on one connection.
type visitor struct {
	*websocket.Conn
	n needs
	b *bench
}

// visit opens a connection by an upgrade. The end of the round closes it.
func (n needs) visit(b *bench) *visitor {
	ctx, cancel := context.WithTimeout(b.Context, b.Timeout)
	defer cancel()
	stream, scheme := n.open(b)
	opened := func(context.Context, string, string) (net.Conn, error) { return stream, nil }
	transport := &nethttp.Transport{DialContext: opened, DialTLSContext: opened}
	o := &websocket.DialOptions{HTTPClient: &nethttp.Client{Transport: transport}, HTTPHeader: nethttp.Header{}, CompressionMode: websocket.CompressionDisabled}
	for _, field := range n.Headers {
		name, value, _ := strings.Cut(field, ":")
		o.HTTPHeader.Add(name, strings.TrimSpace(value))
		if strings.EqualFold(name, "Host") {
			o.Host = strings.TrimSpace(value)
		}
	}
	c, _, err := websocket.Dial(ctx, scheme+"://"+b.Addr()+n.Path, o) //nolint:bodyclose // the connection has it
	transport.CloseIdleConnections()
	contract.Expect(err == nil, "expected an upgrade of %s: %w", n.Path, describe(ctx, err))
	c.SetReadLimit(-1)                                    // ask keeps no more than the echo
	context.AfterFunc(b.Context, func() { c.CloseNow() }) //nolint:errcheck // it may be closed
	return &visitor{c, n, b}
}

// open connects, with a TLS handshake if the load needs it.
func (n needs) open(b *bench) (stream net.Conn, scheme string) {
	c := b.Dial()
	if !n.TLS {
		return c, "ws"
	}
	config := n.ClientConfig(b.Bench, "http/1.1")
	secured := tls.Client(c, config)
	if err := secured.HandshakeContext(b.Context); err != nil {
		contract.Must(tlsclient.HandshakeError(config.ServerName, err))
	}
	return secured, "wss"
}

// content returns the content of message k.
func (n needs) content(k int) []byte {
	if n.Message != "" {
		return []byte(n.Message)
	}
	return bytes.Repeat([]byte{'a' + byte(k%26)}, n.Size)
}

// ask sends message k, and judges its answer.
func (v *visitor) ask(k int) {
	ctx, cancel := context.WithTimeout(v.b.Context, v.b.Timeout)
	defer cancel()
	kind, want := websocket.MessageBinary, v.n.content(k)
	if v.n.Text {
		kind = websocket.MessageText
	}
	err := v.Write(ctx, kind, want)
	contract.Expect(err == nil, "message %d: expected it to be taken: %w", k+1, describe(ctx, err))
	gotKind, got, err := v.receive(ctx, len(want)+maxShown)
	contract.Expect(err == nil, "message %d: expected an answer: %w", k+1, describe(ctx, err))
	contract.Expect(!v.n.Echo || kind == gotKind && bytes.Equal(got, want), "message %d: expected its echo %.40q (%v), saw %.40q (%v): a load with --message and without echo takes any answer", k+1, want, kind, got, gotKind)
}

// describe returns the plain description of an error under a time limit. At the limit the library
// closes the connection, so that a read may fail by that instead.
func describe(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return contract.DescribeError(err)
}

// maxShown is how many bytes of an answer an error shows.
const maxShown = 40

// receive receives a message, and returns at most the first bytes of it. A server may send a
// message without end.
func (v *visitor) receive(ctx context.Context, most int) (kind websocket.MessageType, content []byte, err error) {
	kind, message, err := v.Reader(ctx)
	if err != nil {
		return kind, nil, err
	}
	content, err = io.ReadAll(io.LimitReader(message, int64(most)))
	if err == nil {
		_, err = io.Copy(io.Discard, message)
	}
	return kind, content, err
}

// upgrade checks that an upgrade is accepted, a message answered, and Close too.
func (n needs) upgrade(b *bench) {
	v := n.visit(b)
	v.ask(0)
	err := v.Close(websocket.StatusNormalClosure, "")
	contract.Expect(err == nil, "expected Close to be answered: %w", contract.DescribeError(err))
}

// answers checks many messages on one connection.
func (n needs) answers(b *bench) {
	v := n.visit(b)
	for k := range manyMessages {
		v.ask(k)
	}
	v.CloseNow() //nolint:errcheck // the server has answered
}

// manyConnections checks that connections that are open at once are all answered.
func (n needs) manyConnections(b *bench) {
	all := make([]*visitor, min(n.connections, maxVisitors))
	for i := range all {
		all[i] = n.visit(b)
	}
	contract.During(fmt.Sprintf("on one of %d connections", len(all)), func() {
		contract.InParallel(len(all), func(i int) { all[i].ask(i) })
	})
	for _, v := range all {
		v.CloseNow() //nolint:errcheck // the server has answered
	}
}

// leave checks that the server survives clients that leave before, in and after the upgrade.
func (n needs) leave(b *bench) {
	for _, client := range []struct {
		what, sends string
		leave       func(*net.TCPConn)
	}{
		{"sends nothing", "", func(c *net.TCPConn) { c.Close() }},
		{"leaves in the middle of the upgrade", "GET " + n.Path + " HTTP/1.1\r\nUpgra", func(c *net.TCPConn) { c.Close() }},
		{"resets its connection", "GET " + n.Path + " HTTP/1.1\r\n", contract.Reset},
	} {
		c := b.Dial()
		contract.WriteText(c, client.sends)
		client.leave(c)
		contract.During("after a client that "+client.what, func() { n.upgrade(b) })
	}
	v := n.visit(b)
	v.CloseNow() //nolint:errcheck // it leaves without Close
	contract.During("after a client that left without Close", func() { n.upgrade(b) })
}

// stop checks that SIGTERM ends the server while a connection is open.
func (n needs) stop(b *bench) { n.visit(b).ask(0) }
