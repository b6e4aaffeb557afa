package http

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
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

func startUpstream(dir string) (*upstream, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
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
	return u, nil
}

func (u *upstream) close() error {
	defer func() { <-u.ended }()
	return u.server.Close()
}

// viaUpstream checks that a proxy asks the upstream for each request, on connections that it keeps,
// and names the client.
func viaUpstream(b *bench) error {
	v, err := b.dialHTTP()
	if err != nil {
		return err
	}
	const requests = 50
	seen := map[string]bool{}
	for range requests {
		a, err := v.do("GET", textPath)
		if err == nil {
			err = a.checkFile(textPath, b.www.files[textPath])
		}
		if err != nil {
			return err
		}
		number := a.Header.Get(numberField)
		if number == "" || seen[number] {
			return fmt.Errorf("expected each response from the upstream, saw its response %q again", number)
		}
		seen[number] = true
		if client := a.Header.Get(clientField); client != b.Params.Host {
			return fmt.Errorf("expected X-Forwarded-For with the client's address %s at the upstream, saw %q", b.Params.Host, client)
		}
	}
	if n := b.upstream.opened.Load(); n > maxUpstreamConns {
		return fmt.Errorf("expected at most %d connections to the upstream for %d requests, saw %d", maxUpstreamConns, requests, n)
	}
	return nil
}
