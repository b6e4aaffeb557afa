package basic_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleTemplate() {
	hello := must(basic.Template(basic.TemplateConfig{
		Files: []string{"testdata/hello.html", "testdata/footer.html"},
		Vars:  map[string]string{"title": "Pipes & filters"},
	}))
	ask(hello, "GET /hello?name=%3CAnn%3E", "Content-Type")
	// Output:
	// 200 OK
	// Content-Type: text/html; charset=utf-8
	// <h1>Pipes &amp; filters</h1>
	// <p>Hello, &lt;Ann&gt;. You asked example.com for /hello.</p>
	// <footer>the end</footer>
}

func TestTemplateIsFilledInFromTheRequest(t *testing.T) {
	all := `{{.Method}} {{.Path}} {{.Proto}} {{.Query "q"}} {{.Header "X-It"}} {{.User}} {{.ID}} {{.Vars.a}} {{.Secure}} {{.Now.IsZero}}`
	for _, c := range []struct{ name, file, text, kind, want string }{
		{"text", "a.txt", all, "text/plain; charset=utf-8", "GET /p HTTP/1.1 <q> it ann id A false false"},
		{"HTML", "a.html", all, "text/html; charset=utf-8", "GET /p HTTP/1.1 &lt;q&gt; it ann id A false false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			names := web.Pipe(func(c *web.Conn) { c.SetValue(web.User, "ann"); c.SetValue(web.RequestID, "id") })
			page := must(basic.Template(basic.TemplateConfig{Files: []string{file(t, c.file, c.text)}, Vars: map[string]string{"a": "A"}}))
			webtest.ServeBothWays(t, web.Chain(names, page), func(t *testing.T, url string) {
				resp, body := webtest.Get(t, url+"/p?q=<q>", "X-It", "it")
				if body != c.want || resp.Header.Get("Content-Type") != c.kind {
					t.Errorf("got %q %q, want the page of the case", resp.Header.Get("Content-Type"), body)
				}
			})
		})
	}
}

// A page is whole or it is not sent.
func TestFailingTemplateIsAnsweredBy500(t *testing.T) {
	for name, cfg := range map[string]basic.TemplateConfig{
		"at work":  {Files: []string{file(t, "a.txt", `begun {{index "x" 9}}`)}},
		"too long": {Files: []string{file(t, "b.html", `{{range "12345678901"}}{{.}}{{end}}`+strings.Repeat("x", 10))}, Max: "10"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := make(chan error, 10) // from After -> to the test
			log := web.Pipe(func(c *web.Conn) { c.After(func(c *web.Conn) { errs <- c.Err() }) })
			webtest.ServeBothWays(t, web.Chain(log, must(basic.Template(cfg))), func(t *testing.T, url string) {
				if resp, body := webtest.Get(t, url); resp.StatusCode != 500 || body != "500 Internal Server Error\n" {
					t.Errorf("got %d %q, want 500", resp.StatusCode, body)
				}
				if err := <-errs; err == nil || !strings.HasPrefix(err.Error(), "template: ") {
					t.Errorf("got %v in the log, want an error of the template", err)
				}
			})
		})
	}
}

func TestChangedTemplateIsParsedAgain(t *testing.T) {
	failed := make(chan error, 100) // from the component -> to the test
	name := file(t, "a.txt", "one")
	page := must(basic.Template(basic.TemplateConfig{Files: []string{name}, Check: "1ns", OnFailure: func(err error) { failed <- err }}))
	url := webtest.Serve(t, "chain", page)
	until := func(want string) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for body := ""; body != want; _, body = webtest.Get(t, url) {
			if time.Now().After(deadline) {
				t.Fatalf("got %q, want %q", body, want)
			}
		}
	}
	until("one")
	write(t, name, "two and more")
	until("two and more")
	write(t, name, "{{.Path")
	for len(failed) == 0 {
		until("two and more")
	}
	if err := <-failed; !strings.Contains(err.Error(), name+":1: ") {
		t.Errorf("got %v, want its place", err)
	}
	write(t, name, "three, at last")
	until("three, at last")
}

func TestTemplateIsNotCheckedBeforeItsInterval(t *testing.T) {
	name := file(t, "a.txt", "one")
	url := webtest.Serve(t, "chain", must(basic.Template(basic.TemplateConfig{Files: []string{name}, Check: "1h"})))
	write(t, name, "two and more")
	if _, body := webtest.Get(t, url); body != "one" {
		t.Errorf("got %q, want \"one\"", body)
	}
}

func TestTemplateRejectsInvalidConfigs(t *testing.T) {
	broken := file(t, "broken.txt", "one\n{{end}}")
	unquotable := file(t, "x.html", "<p>\n<a href={{.Path}} title='>")
	missing := file(t, "y.html", `{{template "z"}}`)
	for part, cfg := range map[string]basic.TemplateConfig{
		"template: files is empty":           {},
		"template: stat no-such-file":        {Files: []string{"no-such-file"}},
		broken + ":2: ":                      {Files: []string{broken}},
		unquotable + ":":                     {Files: []string{unquotable}},
		missing + ":1:":                      {Files: []string{missing}},
		"template: max is \"x\"":             {Files: []string{broken}, Max: "x"},
		"template: check is \"x\", which is": {Files: []string{broken}, Check: "x"},
		filepath.Base(broken):                {Files: []string{file(t, "ok.txt", ""), broken}},
	} {
		c, err := basic.Template(cfg)
		wantError(t, c, err, part)
	}
}

// TestTemplatesAreReadOffTheLoop requires that a request leaves its event loop when files are due
// for a check, and stays there otherwise.
func TestTemplatesAreReadOffTheLoop(t *testing.T) {
	for check, want := range map[string]int{"1h": 0, "1ns": 1} {
		page := must(basic.Template(basic.TemplateConfig{Files: []string{file(t, "a.txt", "text")}, Check: check}))
		h, err := web.New(page, web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := webtest.LeavesLoop(t, h, "GET", "/"); got != want {
			t.Errorf("check %s: left the loop %d times, want %d", check, got, want)
		}
		h.Close()
	}
}
