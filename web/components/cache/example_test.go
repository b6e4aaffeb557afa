package cache_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"weir/web"
	"weir/web/components/cache"
)

func ExampleAround() {
	slow := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Cache-Control", "max-age=60")
		return web.String("made with much effort\n")
	})
	cached, err := cache.Around(cache.Config{}, slow)
	if err != nil {
		log.Fatal(err)
	}
	h, err := web.New(cached, web.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()

	for range 2 {
		resp, err := http.Get(server.URL)
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Println(resp.Header.Get("Cache-Status"))
	}
	// Output:
	// weir; fwd=uri-miss
	// weir; hit
}
