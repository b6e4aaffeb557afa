package front

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestWhoIsBehindAProxyThatSpeaksHTTP(t *testing.T) {
	p, err := ParseProxies([]string{"127.0.0.1", "10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	h := p.Forwarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RemoteAddr, " ", r.TLS != nil) }))
	for _, c := range []struct {
		from, proto string
		forwarded   []string
		want        string
	}{
		{from: "127.0.0.1:5", forwarded: []string{"192.0.2.1"}, want: "192.0.2.1:0 false"},
		{from: "127.0.0.1:5", forwarded: []string{"192.0.2.1"}, proto: "https", want: "192.0.2.1:0 true"},
		{from: "127.0.0.1:5", forwarded: []string{"203.0.113.9, 192.0.2.1"}, want: "192.0.2.1:0 false"},
		{from: "127.0.0.1:5", forwarded: []string{"203.0.113.9, 192.0.2.1", "10.1.1.1"}, want: "192.0.2.1:0 false"},
		{from: "127.0.0.1:5", forwarded: []string{"rubbish, 10.1.1.1"}, want: "10.1.1.1:0 false"},
		{from: "127.0.0.1:5", forwarded: []string{"192.0.2.1:4000"}, want: "192.0.2.1:0 false"},
		{from: "127.0.0.1:5", forwarded: []string{"[2001:db8::1]:4000"}, want: "[2001:db8::1]:0 false"},
		{from: "127.0.0.1:5", forwarded: []string{"2001:db8::1"}, want: "[2001:db8::1]:0 false"},
		{from: "127.0.0.1:5", want: "127.0.0.1:5 false"},
		{from: "127.0.0.1:5", forwarded: []string{""}, want: "127.0.0.1:5 false"},
		{from: "192.0.2.7:5", forwarded: []string{"192.0.2.1"}, proto: "https", want: "192.0.2.7:5 false"},
		{from: "@", forwarded: []string{"192.0.2.1"}, want: "@ false"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.from
		r.Header["X-Forwarded-For"] = c.forwarded
		r.Header.Set("X-Forwarded-Proto", c.proto)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Body.String(); got != c.want {
			t.Errorf("%+v: the client is %s", c, got)
		}
		if r.RemoteAddr != c.from {
			t.Error("the server's request was changed")
		}
	}
}
