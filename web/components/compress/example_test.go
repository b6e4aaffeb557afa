package compress_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"weir/web"
	"weir/web/components/compress"
)

func Example() {
	text := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "text/plain")
		return web.String(strings.Repeat("Rivers run. ", 1000))
	})
	zip, err := compress.New(compress.Config{})
	if err != nil {
		log.Fatal(err)
	}
	h, err := web.New(web.Chain(text, zip), web.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()

	request, _ := http.NewRequest("GET", server.URL, nil)
	request.Header.Set("Accept-Encoding", "gzip, br;q=0.5")
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.Header.Get("Content-Encoding"), resp.Header.Get("Vary"), len(body) < 200)
	// Output: gzip Accept-Encoding true
}
