package server

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

// serveSurplus serves connections by surplusUpstream, with TLS unless config is nil, until the test
// ends. It returns the address.
func serveSurplus(t *testing.T, config *tls.Config) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // until the listener is closed
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go surplusUpstream(c) // until the proxy closes the connection
		}
	}()
	return l.Addr().String()
}

// TestASurplusResponseReachesNoClient: a connection whose upstream has sent more than a response is
// not used for another client.
func TestASurplusResponseReachesNoClient(t *testing.T) {
	secure := httptest.NewUnstartedServer(nil)
	secure.StartTLS() // for its certificate
	t.Cleanup(secure.Close)
	upstreams := []string{"http://" + serveSurplus(t, nil), "https://" + serveSurplus(t, &tls.Config{Certificates: secure.TLS.Certificates})}
	settings := proxy.Config{MaxFails: -1, Retries: -1, TLS: secure.Client().Transport.(*http.Transport).TLSClientConfig}
	for _, upstream := range upstreams {
		settings.Upstreams = []string{upstream}
		eachModel(t, func(t *testing.T, config Config) { askSurplusUpstream(t, config, settings) })
	}
}

// askSurplusUpstream makes requests of each kind by many clients.
func askSurplusUpstream(t *testing.T, config Config, settings proxy.Config) {
	c, err := proxy.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	defer c.(*proxy.Proxy).Close()
	h, err := web.New(web.Chain(c), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
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
}

// getOwn makes requests with numbers from first on, one after the other, each by a connection.
func getOwn(t *testing.T, addr, kind, request string, first int) {
	for n := first; n < first+10; n++ {
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
