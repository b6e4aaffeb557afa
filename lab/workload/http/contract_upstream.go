package http

import (
	"net"
	"net/http"
	"strconv"
	"sync/atomic"

	"weir/lab/contract"
)

const (
	// numberField has the number of the request at the upstream, in each response of it.
	numberField = "X-Upstream-Request"
	// clientField has the X-Forwarded-For of the request that the upstream received.
	clientField = "X-Upstream-Client"
	// maxUpstreamConns is the most connections that a proxy may open to the upstream for the
	// requests of one client: one for each of its threads.
	maxUpstreamConns = 8
)

// upstream is the server behind a proxy. It serves the folder of the files.
type upstream struct {
	server   http.Server
	addr     string
	requests atomic.Int64
	opened   atomic.Int64  // connections
	ended    chan struct{} // closed by the goroutine that serves
}

func startUpstream(dir string) *upstream {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	contract.Must(err)
	u := &upstream{addr: l.Addr().String(), ended: make(chan struct{})}
	files := http.FileServer(http.Dir(dir))
	u.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(numberField, strconv.FormatInt(u.requests.Add(1), 10))
		w.Header().Set(clientField, r.Header.Get("X-Forwarded-For"))
		files.ServeHTTP(w, r)
	})
	u.server.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			u.opened.Add(1)
		}
	}
	go func() {
		defer close(u.ended)
		u.server.Serve(l) //nolint:errcheck // until close
	}()
	return u
}

func (u *upstream) close() error {
	defer func() { <-u.ended }()
	return u.server.Close()
}

// viaUpstream checks that a proxy asks the upstream for each request, on connections that it keeps,
// and names the client.
func viaUpstream(b *bench) {
	v := b.dial()
	const requests = 50
	seen := map[string]bool{}
	for range requests {
		a := v.do("GET", textPath)
		a.checkFile(textPath, b.www.files[textPath])
		number := a.Header.Get(numberField)
		contract.Expect(number != "" && !seen[number], "expected each response from the upstream, saw its response %q again", number)
		seen[number] = true
		client := a.Header.Get(clientField)
		contract.Expect(client == b.Params.Host, "expected X-Forwarded-For with the client's address %s at the upstream, saw %q", b.Params.Host, client)
	}
	n := b.upstream.opened.Load()
	contract.Expect(n <= maxUpstreamConns, "expected at most %d connections to the upstream for %d requests, saw %d", maxUpstreamConns, requests, n)
}
