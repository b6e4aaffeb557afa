package http

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"weir/lab/contract"
	"weir/lab/workload/http/httpload"
)

// Needs is what a load with described requests needs of a server. A server of any making can be
// checked for that alone; it does not have to serve the files of this project.
type Needs struct {
	Requests    []httpload.Request // at least one; those that httpload.CheckMix accepts
	KeepAlive   bool               // a connection takes several requests
	Connections int                // that are open at once; 0: one
}

// maxVisitors bounds how many connections the check of Needs.Connections opens.
const maxVisitors = 100

// Contract returns the contract of a server for the load: that it listens, answers every described
// request as described, survives clients that leave, and ends by SIGTERM with all its processes.
// Its connections are persistent or concurrent if the load needs that. It may print what it likes.
// A request that cannot be sent, such as one with a blank in its method, fails the first check.
func (n Needs) Contract() contract.Kind {
	k := contract.Kind{Workloads: []string{Requests}, Prepare: prepare}
	for _, c := range []struct {
		needed bool
		name   string
		run    func(Needs, *bench)
	}{
		{true, "answer", Needs.answer},
		{n.KeepAlive, "keep-alive", Needs.keepAlive},
		{n.Connections > 1, "connections", Needs.connections},
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

// requestText returns the request as it is sent to a server at addr. With last, the client asks the
// server to close the connection.
func requestText(r httpload.Request, addr string, last bool) string {
	request, err := http.NewRequest(r.Method, "http://"+addr+cmp.Or(r.Path, "/"), strings.NewReader(r.Body))
	contract.Must(err)
	for _, field := range r.Headers {
		name, value, _ := strings.Cut(field, ":")
		request.Header.Add(name, strings.TrimSpace(value))
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "weir")
	}
	request.Close = last
	var text strings.Builder
	contract.Must(request.Write(&text))
	return text.String()
}

// ask sends a request and judges its response.
func (v *conn) ask(r httpload.Request, last bool) {
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	contract.During(r.Method+" "+cmp.Or(r.Path, "/"), func() {
		v.write(requestText(r, v.b.Addr(), last))
		a := v.read(r.Method)
		contract.Must(r.Judge(a.StatusCode, a.body))
		contract.Expect(v.in.Buffered() == 0, "expected nothing after the response, saw %d bytes", v.in.Buffered())
	})
}

// answer checks that each request is answered, on a connection of its own.
func (n Needs) answer(b *bench) {
	for _, r := range n.Requests {
		v := b.dial()
		v.ask(r, !n.KeepAlive)
		v.Close()
	}
}

// keepAlive checks fifty requests on one connection.
func (n Needs) keepAlive(b *bench) {
	v := b.dial()
	for i := range 50 {
		err := contract.Try(func() { v.ask(n.Requests[i%len(n.Requests)], false) })
		ended := errors.Is(err, contract.ErrEnded) || errors.Is(err, contract.ErrReset)
		contract.Expect(!ended, "request %d on one connection: %w (a load with a connection for each request does not need this)", i+1, err)
		contract.Expect(err == nil, "request %d on one connection: %w", i+1, err)
	}
	v.Close()
}

// connections checks that connections that are open at once are all served.
func (n Needs) connections(b *bench) {
	all := b.dialAll(min(n.Connections, maxVisitors))
	contract.During(fmt.Sprintf("on one of %d connections", len(all)), func() {
		contract.InParallel(len(all), func(i int) { all[i].ask(n.Requests[i%len(n.Requests)], !n.KeepAlive) })
	})
	for _, v := range all {
		v.Close()
	}
}

// leave checks that the server survives clients that leave before they have a response.
func (n Needs) leave(b *bench) {
	text := requestText(n.Requests[0], b.Addr(), true)
	for _, client := range []struct {
		what, sends string
		leave       func(*net.TCPConn)
	}{
		{"sends nothing", "", func(c *net.TCPConn) { c.Close() }},
		{"leaves in the middle of a request", text[:len(text)/2], func(c *net.TCPConn) { c.Close() }},
		{"resets its connection", text, contract.Reset},
	} {
		v := b.dial()
		v.write(client.sends)
		client.leave(v.TCPConn)
		contract.During("after a client that "+client.what, func() { n.answer(b) })
	}
}

// stop checks that SIGTERM ends the server, which the last check of a server is charged with. The
// connection of a client that was served is still open, if the server keeps it.
func (n Needs) stop(b *bench) { b.dial().ask(n.Requests[0], !n.KeepAlive) }
