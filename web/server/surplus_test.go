package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"weir/web"
	"weir/web/components/proxy"
)

// surplusUpstream serves a connection of an upstream that answers each request by two responses:
// the first has the path.
func surplusUpstream(c net.Conn) {
	defer c.Close()
	for r := bufio.NewReader(c); ; {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		const response = "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
		fmt.Fprintf(c, response+response, len(req.URL.Path), req.URL.Path, len("other"), "other")
	}
}

// TestASurplusResponseReachesNoClient: a connection whose upstream has sent more than a response is
// not used for another client.
func TestASurplusResponseReachesNoClient(t *testing.T) {
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { upstream.Close() })
	go func() { // until the listener is closed
		for c, err := upstream.Accept(); err == nil; c, err = upstream.Accept() {
			go surplusUpstream(c) // until the proxy closes the connection
		}
	}()
	eachModel(t, func(t *testing.T, config Config) {
		c, err := proxy.New(proxy.Config{Upstreams: []string{"http://" + upstream.Addr().String()}, MaxFails: -1, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		h, err := web.New(web.Chain(c), web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, config, h)
		for kind, request := range proxiedRequests {
			var clients sync.WaitGroup
			for client := range 10 {
				clients.Go(func() { getOwn(t, s.addr, kind, request, 1000*client) })
			}
			clients.Wait()
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		c.(*proxy.Proxy).Close()
		h.Close()
	})
}

// getOwn makes requests with numbers from first on, one after the other, each by a connection.
func getOwn(t *testing.T, addr, kind, request string, first int) {
	for n := first; n < first+30; n++ {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		_ = c.SetDeadline(time.Now().Add(waitTimeout))
		fmt.Fprintf(c, request, n)
		if got, _ := result(bufio.NewReader(c)); got != fmt.Sprintf("200 /%d", n) {
			t.Errorf("a request %s for /%d: got %q, want its own response", kind, n, got)
		}
		c.Close()
	}
}
