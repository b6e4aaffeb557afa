package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/web"
	"weir/web/components/proxy"
)

// TestAProxiedUploadMayBeAnsweredEarly: the upstream sends the head of its response before it reads
// the content. The goroutine that forwards the content then reads it while the response is sent.
func TestAProxiedUploadMayBeAnsweredEarly(t *testing.T) {
	const chunks, size = 100, 10_000
	got := make(chan string, 9) // from the upstream, one value for each upload
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		control.EnableFullDuplex()
		control.Flush()
		n, err := io.Copy(io.Discard, r.Body)
		got <- fmt.Sprint(n, err)
		fmt.Fprint(w, n)
	}))
	defer upstream.Close()
	c, err := proxy.New(proxy.Config{Upstreams: []string{upstream.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.(*proxy.Proxy).Close()
	h, err := web.New(web.Chain(c), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s := start(t, Config{}, h)
	for range 3 {
		client := dial(t, s.addr)
		go func() {
			io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
			for range chunks {
				time.Sleep(100 * time.Microsecond) // the response overtakes the content
				fmt.Fprintf(client, "%x\r\n%s\r\n", size, strings.Repeat("x", size))
			}
			io.WriteString(client, "0\r\n\r\n")
		}()
		if _, body := answer(t, bufio.NewReader(client)); body != fmt.Sprint(chunks*size) {
			t.Errorf("the client got %q, want %d", body, chunks*size)
		}
		if g, want := <-got, fmt.Sprint(chunks*size, nil); g != want {
			t.Errorf("the upstream got %s, want %s", g, want)
		}
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}
