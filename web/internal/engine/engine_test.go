package engine

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"weir/serve"
)

type reuser struct{ http.HandlerFunc }

func (reuser) ReusesExchanges() bool { return true }

func TestServesARequest(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		io.WriteString(w, r.Method+" "+r.URL.String()+" "+string(b))
	})})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- serve.RunBlocking(ctx, serve.Coroutine, l, serve.Handler{Handle: func(c net.Conn) { s.ServeConn(c, nil, nil) }}, serve.Options{})
	}()
	resp, err := http.Get("http://" + l.Addr().String() + "/a?b")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	t.Logf("%v %q", resp, b)
	cancel()
	<-done
}
