package basic_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleRecover() {
	sorry := must(basic.Recover(basic.RecoverConfig{
		Text: "Something is broken here, and we know it.",
		OnPanic: func(c *web.Conn, panicErr *flow.PanicError) {
			fmt.Printf("%s %s: stage %s: %v, with its stack: %v\n", c.Method(), c.Target(), panicErr.Stage, panicErr.Value, len(panicErr.Stack) > 0)
		},
	}))
	fragile := web.Named("fragile", web.Source(func(*web.Conn) web.Body { panic("out of cheese") }))
	ask(web.Chain(sorry, fragile), "GET /cheese")
	// Output:
	// GET /cheese: stage fragile: out of cheese, with its stack: true
	// 500 Internal Server Error
	// Something is broken here, and we know it.
}

func TestRecoverAnswersForAComponentThatPanics(t *testing.T) {
	reports := make(chan string, 100) // from the callback -> to the test
	cfg := basic.RecoverConfig{OnPanic: func(c *web.Conn, panicErr *flow.PanicError) { reports <- c.Path() + fmt.Sprint(panicErr.Value) }}
	fragile := web.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panic":
			panic("no")
		case "/missing":
			http.NotFound(w, r)
		default:
			io.WriteString(w, "fine")
		}
	}))
	for _, text := range []string{"", "<h1>{status}</h1>"} {
		cfg.Text = text
		webtest.ServeBothWays(t, web.Chain(must(basic.Recover(cfg)), fragile), func(t *testing.T, url string) {
			want := map[string]string{"": "500 Internal Server Error\n", "<h1>{status}</h1>": "<h1>500</h1>"}[text]
			if resp, body := webtest.Get(t, url+"/panic"); resp.StatusCode != 500 || body != want {
				t.Errorf("got %d %q, want %q", resp.StatusCode, body, want)
			}
			if got := <-reports; got != "/panicno" {
				t.Errorf("got report %q, want %q", got, "/panicno")
			}
			if resp, body := webtest.Get(t, url+"/missing"); resp.StatusCode != 404 || !strings.HasPrefix(body, "404") {
				t.Errorf("got %d %q, want 404", resp.StatusCode, body)
			}
			if resp, body := webtest.Get(t, url); resp.StatusCode != 200 || body != "fine" || len(reports) != 0 {
				t.Errorf("got %d %q and %d more reports, want 200 \"fine\" and none", resp.StatusCode, body, len(reports))
			}
		})
	}
	c, err := basic.Recover(basic.RecoverConfig{File: "no-such-file"})
	wantError(t, c, err, "recover: file: open no-such-file")
}
