package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"

	"weir/web/internal/client"
)

func TestRequestFromTrustedProxyHasItsClientsAddress(t *testing.T) {
	for _, c := range []struct{ from, fields, want string }{
		{"10.0.0.1:7", "X-Forwarded-For: 203.0.113.5\r\n", "203.0.113.5:0 by 10.0.0.1:7 false"},
		{"10.0.0.1:7", "X-Forwarded-For: 6.6.6.6, 203.0.113.5, 10.9.9.9\r\n", "203.0.113.5:0 by 10.0.0.1:7 false"},
		{"10.0.0.1:7", "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 2001:db8::5\r\nX-Forwarded-Proto: http, HTTPS\r\n", "[2001:db8::5]:0 by 10.0.0.1:7 true"},
		{"10.0.0.1:7", "X-Forwarded-Proto: https, http\r\n", "10.0.0.1:7 by 10.0.0.1:7 false"},
		{"192.0.2.1:7", "X-Forwarded-For: 203.0.113.5\r\nX-Forwarded-Proto: https\r\n", "192.0.2.1:7 by  false"},
	} {
		s := start(t, Config{Listener: claiming(t, c.from), TrustedProxies: []string{"10.0.0.0/8"}}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s by %s %v", r.RemoteAddr, client.ProxyAddr(r.Context()), r.TLS != nil)
		}))
		conn := dial(t, s.addr)
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n"+c.fields+"\r\n")
		if _, body := answer(t, bufio.NewReader(conn)); body != c.want {
			t.Errorf("from %s with %q: got %q, want %q", c.from, c.fields, body, c.want)
		}
	}
}
