package web_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"weir/flow"
	"weir/web"
	"weir/web/components/basic"
)

// Example composes a site of a filter and two routes, and asks for a page. A composition is an
// http.Handler: any server can run it.
func Example() {
	headers, err := basic.Headers(basic.HeadersConfig{Set: map[string]string{"X-Served-By": "weir"}})
	if err != nil {
		log.Fatal(err)
	}
	routes, err := web.Routes(
		web.Arm{Pattern: "/hello", Component: basic.Text("hello\n")},
		web.Arm{Pattern: "/", Component: basic.Text("home\n")},
	)
	if err != nil {
		log.Fatal(err)
	}
	site, err := web.New(web.Chain(routes, headers), web.Options{Way: flow.Network})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()

	server := httptest.NewServer(site)
	defer server.Close()
	response, err := http.Get(server.URL + "/hello")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Header.Get("X-Served-By"))
	fmt.Print(string(body))
	// Output:
	// weir
	// hello
}
