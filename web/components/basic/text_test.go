package basic_test

import (
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleText() {
	ask(basic.Text("hello"), "GET /", "Content-Type", "ETag")
	// Output:
	// 200 OK
	// Content-Type: text/plain; charset=utf-8
	// ETag: "LPJNul-wow4m6Dsqxbning"
	// hello
}

func TestTextSupportsConditionsAndRanges(t *testing.T) {
	webtest.ServeBothWays(t, web.Chain(basic.Text("hello")), func(t *testing.T, url string) {
		resp, body := webtest.Get(t, url)
		if body != "hello" || resp.ContentLength != 5 {
			t.Errorf("got %q of length %d, want \"hello\" of length 5", body, resp.ContentLength)
		}
		if again, body := webtest.Get(t, url, "If-None-Match", resp.Header.Get("ETag")); again.StatusCode != 304 || body != "" {
			t.Errorf("a client that has it: got %d %q, want 304", again.StatusCode, body)
		}
		if part, body := webtest.Get(t, url, "Range", "bytes=1-2"); part.StatusCode != 206 || body != "el" {
			t.Errorf("a range: got %d %q, want 206 \"el\"", part.StatusCode, body)
		}
	})
}
