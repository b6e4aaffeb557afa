package cgi_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	nethttpfcgi "net/http/fcgi"
	"net/http/httptest"

	"weir/web"
	"weir/web/components/cgi"
)

// get runs a component on a server, and requests a path.
func get(c web.Component, err error, path string) {
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.(io.Closer).Close()
	h, err := web.New(c, web.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	s := httptest.NewServer(h)
	defer s.Close()
	resp, err := http.Get(s.URL + path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Print(resp.Status, ": ", string(body))
}

func ExampleNew() {
	c, err := cgi.New(cgi.Config{Dir: "testdata/bin", Prefix: "/cgi-bin"})
	get(c, err, "/cgi-bin/hello/you")
	// Output: 200 OK: hello /you
}

func ExampleNewFastCGI() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	go func() {
		_ = nethttpfcgi.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, "you asked for", r.URL.Path)
		}))
	}()
	c, err := cgi.NewFastCGI(cgi.FastCGIConfig{Address: l.Addr().String()})
	get(c, err, "/hello")
	// Output: 200 OK: you asked for /hello
}
