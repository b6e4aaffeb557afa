package accesslog_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"

	"weir/web"
	"weir/web/components/accesslog"
)

// A log stands first, and hears of everything that is answered behind it.
func Example() {
	name := filepath.Join(os.TempDir(), "example-access.log")
	defer os.Remove(name)
	log, err := accesslog.New(accesslog.Config{File: name, Format: "common"})
	if err != nil {
		fmt.Println(err)
		return
	}
	hello := web.Source(func(*web.Conn) web.Body { return web.String("hello") })
	h, err := web.New(web.Chain(log, hello), web.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/index.html", nil))
	_ = h.Close()
	_ = log.Close() // writes what waits

	lines, _ := os.ReadFile(name)
	fmt.Printf("%s", regexp.MustCompile(`\[.*\]`).ReplaceAll(lines, []byte("[…]")))
	// Output: 192.0.2.1 - - […] "GET /index.html HTTP/1.1" 200 5
}
