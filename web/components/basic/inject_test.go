package basic_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleInject() {
	note := must(basic.Inject(basic.InjectConfig{Text: "<footer>served by pipes</footer>"}))
	ask(web.Chain(page("text/html", "<html><body><p>hello</body></html>"), note), "GET /")
	// Output:
	// 200 OK
	// <html><body><p>hello<footer>served by pipes</footer></body></html>
}

func TestInjectInsertsItsTextOnce(t *testing.T) {
	for _, c := range []struct{ name, before, body, want string }{
		{"body", "", "<p>a</body></html>", "<p>aX</body></html>"},
		{"head", "head", "<head></head><body></body>", "<head>X</head><body></body>"},
		{"the first alone", "", "</body></body>", "X</body></body>"},
		{"any case", "", "a</BoDy>", "aX</BoDy>"},
		{"with a space", "", "a</body >", "aX</body >"},
		{"a longer name", "", "a</bodyguard></body>", "a</bodyguard>X</body>"},
		{"begun twice", "", "a</bo</body>", "a</boX</body>"},
		{"begun often", "", "<<<</</</body</body>", "<<<</</</bodyX</body>"},
		{"none", "", "<p>a", "<p>a"},
		{"not ended", "", "<p>a</body", "<p>a</body"},
		{"nothing", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inject := through(t, "text/html; charset=utf-8", must(basic.Inject(basic.InjectConfig{Text: "X", Before: c.before})))
			for n := 1; n <= len(c.body)+1; n++ {
				if got := inject(cut([]byte(c.body), n)); got != c.want {
					t.Errorf("written %d bytes at a time: got %q, want %q", n, got, c.want)
				}
			}
		})
	}
}

func TestInjectChangesOnlyHTMLPages(t *testing.T) {
	inject := must(basic.Inject(basic.InjectConfig{File: file(t, "x.txt", "X")}))
	set := func(name, value string, status int) web.Component {
		return web.Source(func(c *web.Conn) web.Body {
			c.SetStatus(status)
			if value != "" {
				c.SetHeader(name, value)
			}
			return web.String("<!doctype html></body>")
		})
	}
	for _, c := range []struct {
		name   string
		source web.Component
		into   bool
	}{
		{"HTML", set("Content-Type", "Text/HTML;charset=utf-8", 200), true},
		{"an error page", set("Content-Type", "text/html", 404), true},
		{"what looks like HTML and says nothing", set("", "", 200), true},
		{"text", set("Content-Type", "text/plain", 200), false},
		{"a part", set("Content-Type", "text/html", 206), false},
		{"compressed", web.Chain(set("Content-Encoding", "br", 200)), false},
		{"a canned answer", web.Chain(must(basic.Status(basic.StatusConfig{Code: 404}))), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			webtest.ServeBothWays(t, web.Chain(c.source, inject), func(t *testing.T, url string) {
				if resp, body := webtest.Get(t, url); strings.Contains(body, "X</body>") != c.into {
					t.Errorf("got %d %q, want the text only in complete HTML pages", resp.StatusCode, body)
				}
			})
		})
	}
}

// A flush reaches the client while the page continues.
func TestInjectFlushesStreams(t *testing.T) {
	gate := make(chan struct{}) // the client has seen the beginning
	source := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "text/html")
		return web.Stream(-1, func(w io.Writer) error {
			io.WriteString(w, "<p>begun</b")
			web.Flush(w)
			<-gate
			_, err := io.WriteString(w, "ody>")
			return err
		})
	})
	url := webtest.Serve(t, "network", web.Chain(source, must(basic.Inject(basic.InjectConfig{Text: "X"}))))
	resp, err := webtest.Client(t).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	begun := make([]byte, len("<p>begun"))
	if _, err := io.ReadFull(resp.Body, begun); err != nil || string(begun) != "<p>begun" {
		t.Errorf("got %q %v, want the flushed beginning", begun, err)
	}
	close(gate)
	if rest, err := io.ReadAll(resp.Body); string(rest) != "X</body>" {
		t.Errorf("got %q %v, want the text before </body>", rest, err)
	}
}

func TestInjectRejectsInvalidConfigs(t *testing.T) {
	for part, cfg := range map[string]basic.InjectConfig{
		"inject: text is empty":            {},
		"inject: before is \"html\"":       {Text: "x", Before: "html"},
		"inject: text and file are both":   {Text: "x", File: "x"},
		"inject: file: open no-such-file:": {File: "no-such-file"},
	} {
		c, err := basic.Inject(cfg)
		wantError(t, c, err, part)
	}
}

// FuzzInject checks that the text is added before the first tag, and nothing else changes, however
// writes split the page.
func FuzzInject(f *testing.F) {
	for _, s := range []string{"<p></body>", "</BODY\n>", "<</body", "</bod</body>x</body>"} {
		f.Add([]byte(s), 3)
	}
	inject := through(f, "text/html", must(basic.Inject(basic.InjectConfig{Text: "X"})))
	tag := regexp.MustCompile(`(?i)</body[>/ \t\n\r\f]`)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		want := string(text)
		if at := tag.FindIndex(text); at != nil {
			want = want[:at[0]] + "X" + want[at[0]:]
		}
		if got := inject(cut(text, max(1, n%64))); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	})
}

func BenchmarkInject(b *testing.B) {
	body := []byte(strings.Repeat("<p>some <b>bold</b> text</p>\n", 1000) + "</body></html>")
	source := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "text/html")
		return web.Stream(-1, inPieces(body))
	})
	b.SetBytes(int64(len(body)))
	r, _ := http.NewRequest("GET", "http://h/", nil)
	benchmark(b, web.Chain(source, must(basic.Inject(basic.InjectConfig{Text: "<footer>"}))), r)
}
