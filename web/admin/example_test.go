package admin_test

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"weir/web"
	"weir/web/admin"
	"weir/web/components/metrics"
)

// A server, and the page that shows it on an address of its own.
func ExampleNew() {
	hello := web.Named("hello", web.Source(func(*web.Conn) web.Body { return web.String("hello") }))
	site, err := web.New(hello, web.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer site.Close()
	page, err := admin.New(admin.Config{
		Source:  func() []metrics.Site { return []metrics.Site{{Name: "site", Site: site}} },
		Metrics: metrics.New(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// http.Serve(loopback, page) would serve it; here it is asked directly.
	r := httptest.NewRequest("GET", "http://localhost:9090/metrics", nil)
	w := httptest.NewRecorder()
	page.ServeHTTP(w, r)
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "weir_stage_items_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// weir_stage_items_total{site="site",stage="hello"} 0
	// weir_stage_items_total{site="site",stage="response"} 0
}
