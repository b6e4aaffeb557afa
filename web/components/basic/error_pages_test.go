package basic_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleErrorPages() {
	pages := must(basic.ErrorPages(basic.ErrorPagesConfig{
		Pages: map[string]string{"404": "There is no such page.", "5xx": "We are sorry: {status}."},
	}))
	fragile := web.Pipe(func(c *web.Conn) {
		if c.Path() == "/panic" {
			panic("no")
		}
	})
	site := web.Chain(pages, fragile, web.When("home", func(c *web.Conn) bool { return c.Path() == "/" }, basic.Text("home")))
	ask(site, "GET /")
	ask(site, "GET /nowhere")
	ask(site, "GET /panic")
	// Output:
	// 200 OK
	// home
	// 404 Not Found
	// There is no such page.
	// 500 Internal Server Error
	// We are sorry: 500.
}

// twice is a filter that repeats the body.
var twice = web.Named("twice", web.Filter(func(*web.Conn) web.Transform {
	return func(next io.Writer) io.WriteCloser { return &doubling{next: next} }
}))

type doubling struct {
	next io.Writer
	all  bytes.Buffer
}

func (d *doubling) Write(p []byte) (int, error) { return d.all.Write(p) }

func (d *doubling) Close() error {
	_, err := d.next.Write(bytes.Repeat(d.all.Bytes(), 2))
	return err
}

func TestErrorPagesReplaceTheBodiesOfErrors(t *testing.T) {
	status := func(c *web.Conn) web.Body {
		switch c.Path() {
		case "/404":
			return c.StatusBody(404)
		case "/405":
			c.SetHeader("Allow", "GET")
			return c.StatusBody(405)
		case "/own":
			c.SetStatus(404)
			return web.String("own words")
		case "/304":
			return c.StatusBody(304)
		}
		return web.String("page")
	}
	cfg := basic.ErrorPagesConfig{
		Pages: map[string]string{"404": "not there", "4xx": "{status} {reason}!"},
		Files: map[string]string{"3xx": file(t, "3.html", "<p>")},
	}
	all := cfg
	all.All = true
	for _, c := range []struct {
		name  string
		site  web.Component
		bodys map[string]string
	}{
		{"first", web.Chain(must(basic.ErrorPages(cfg)), web.Source(status)),
			map[string]string{"/404": "not there", "/405": "405 Method Not Allowed!", "/own": "own words", "/304": "", "/": "page"}},
		{"behind the source, before a filter", web.Chain(web.Source(status), must(basic.ErrorPages(cfg)), twice),
			map[string]string{"/404": "not therenot there", "/": "pagepage"}},
		{"all", web.Chain(must(basic.ErrorPages(all)), web.Source(status)),
			map[string]string{"/own": "not there", "/": "page"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			webtest.ServeBothWays(t, c.site, func(t *testing.T, url string) {
				for path, want := range c.bodys {
					resp, body := webtest.Get(t, url+path)
					if body != want || path == "/405" && resp.Header.Get("Allow") != "GET" {
						t.Errorf("%s: got %q %v, want %q", path, body, resp.Header, want)
					}
				}
			})
		})
	}
}

func TestErrorPagesWithoutPagesSendsBuiltinHTML(t *testing.T) {
	site := web.Chain(must(basic.ErrorPages(basic.ErrorPagesConfig{})), web.Source(func(c *web.Conn) web.Body {
		if c.Path() == "/own" {
			c.SetStatus(http.StatusNotFound)
			return web.String("own words")
		}
		status, _ := strconv.Atoi(c.Path()[1:])
		return c.StatusBody(status)
	}))
	webtest.ServeBothWays(t, site, func(t *testing.T, url string) {
		for _, test := range []struct{ path, accept, contentType, part string }{
			{"/404", "text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8", "<title>404 Not Found</title>"},
			{"/503", "text/html", "text/html; charset=utf-8", "<title>503 Service Unavailable</title>"},
			{"/404", "*/*", "text/plain; charset=utf-8", "404 Not Found\n"},
			{"/404", "", "text/plain; charset=utf-8", "404 Not Found\n"},
			{"/own", "text/html", "", "own words"},
			{"/200", "text/html", "text/plain; charset=utf-8", "200 OK\n"},
		} {
			resp, body := webtest.Get(t, url+test.path, "Accept", test.accept)
			if !strings.Contains(body, test.part) || test.contentType != "" && resp.Header.Get("Content-Type") != test.contentType {
				t.Errorf("%s with Accept %q: got %q %q, want %q with %q", test.path, test.accept, resp.Header.Get("Content-Type"), body, test.contentType, test.part)
			}
			if negotiated := test.path == "/404" || test.path == "/503"; negotiated != (resp.Header.Get("Vary") == "Accept") {
				t.Errorf("%s with Accept %q: got Vary %q, want Accept: %v", test.path, test.accept, resp.Header.Get("Vary"), negotiated)
			}
		}
	})
}

func TestErrorPagesRejectsInvalidConfigs(t *testing.T) {
	for part, cfg := range map[string]basic.ErrorPagesConfig{
		"pages and files are empty":        {Type: "text/html"},
		`"teapot" is neither a status`:     {Pages: map[string]string{"teapot": ""}},
		`"6xx" is neither a status`:        {Pages: map[string]string{"6xx": ""}},
		`"4" is neither a status`:          {Pages: map[string]string{"4": ""}},
		"pages and files both have 404":    {Pages: map[string]string{"404": ""}, Files: map[string]string{"404": ""}},
		"error_pages: 500: file: open no-": {Files: map[string]string{"500": "no-such-file"}},
	} {
		c, err := basic.ErrorPages(cfg)
		wantError(t, c, err, part)
	}
}

// TestTheFirstOfSeveralWrongPagesIsReported requires the same error each time.
func TestTheFirstOfSeveralWrongPagesIsReported(t *testing.T) {
	for range 20 {
		_, err := basic.ErrorPages(basic.ErrorPagesConfig{Files: map[string]string{"504": "none", "502": "none", "503": "none"}})
		if err == nil || !strings.HasPrefix(err.Error(), "error_pages: 502: ") {
			t.Fatalf("got %v, want the error of 502", err)
		}
	}
}
