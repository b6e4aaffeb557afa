package cache

import (
	"strings"
	"testing"

	"weir/web/internal/webtest"
)

func TestGETWithABodyBypassesTheCache(t *testing.T) {
	source, n := counted("answer")
	url := webtest.Serve(t, "chain", cached(t, Config{}, source))
	for i, body := range []string{"a", "b", "a"} {
		webtest.Do(t, "GET", url, strings.NewReader(body))
		if *n != i+1 {
			t.Errorf("request %d with a body: the source got %d requests, want all", i, *n)
		}
	}
	for range 2 {
		webtest.Get(t, url)
	}
	if *n != 4 {
		t.Errorf("two requests without a body: the source got %d requests more, want 1", *n-3)
	}
	webtest.Do(t, "GET", url, strings.NewReader("c"))
	if *n != 5 {
		t.Error("a GET with a body: got the stored response of one without, want a forwarded request")
	}
}
