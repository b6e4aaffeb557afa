package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"weir/web"
	"weir/web/components/proxy"
)

func Example() {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s for %s\n", r.URL.Path, r.Header.Get("X-Forwarded-For"))
	}))
	defer app.Close()

	c, err := proxy.New(proxy.Config{Upstreams: []string{app.URL}})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := c.(*proxy.Proxy)
	defer p.Close()
	h, err := web.New(web.Chain(p), web.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	front := httptest.NewServer(h)
	defer front.Close()

	resp, err := http.Get(front.URL + "/hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Print(resp.Status, ": ", string(body))
	http.DefaultClient.CloseIdleConnections()
	fmt.Println("requests:", p.Upstreams()[0].Requests)
	// Output:
	// 200 OK: /hello for 127.0.0.1
	// requests: 1
}
