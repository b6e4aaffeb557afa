package basic_test

import (
	"bytes"
	"strings"
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleReplace() {
	move := must(basic.Replace(basic.ReplaceConfig{Old: "http://old.example", New: "https://new.example"}))
	ask(web.Chain(page("text/html", `<a href="http://old.example/x">`), move), "GET /")
	// Output:
	// 200 OK
	// <a href="https://new.example/x">
}

func TestReplaceChangesItsTextInBodies(t *testing.T) {
	for _, c := range []struct{ name, old, with, body, want string }{
		{"one", "b", "B", "abc", "aBc"},
		{"all", "ab", "", "ababxab", "x"},
		{"longer", "a", "aa", "aaa", "aaaaaa"},
		{"from the left", "aa", "b", "aaaaa", "bba"},
		{"begun twice", "aab", "x", "aaab aaaab", "ax aax"},
		{"not ended", "abc", "x", "ab", "ab"},
		{"nothing", "abc", "x", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			replace := through(t, "text/plain", must(basic.Replace(basic.ReplaceConfig{Old: c.old, New: c.with})))
			for n := 1; n <= len(c.body)+1; n++ {
				if got := replace(cut([]byte(c.body), n)); got != c.want {
					t.Errorf("written %d bytes at a time: got %q, want %q", n, got, c.want)
				}
			}
		})
	}
}

func TestReplaceChangesOnlyItsMediaTypes(t *testing.T) {
	for _, c := range []struct {
		kind  string
		types []string
		does  bool
	}{
		{"text/css; charset=utf-8", nil, true},
		{"image/png", nil, false},
		{"application/json", []string{"application/json"}, true},
		{"text/plain", []string{"application/json"}, false},
	} {
		replace := must(basic.Replace(basic.ReplaceConfig{Old: "a", New: "b", Types: c.types}))
		webtest.ServeBothWays(t, web.Chain(page(c.kind, "a"), replace), func(t *testing.T, url string) {
			if _, body := webtest.Get(t, url); (body == "b") != c.does {
				t.Errorf("%s of %v: got %q, want a change only for these types", c.kind, c.types, body)
			}
		})
	}
}

func TestReplaceRejectsInvalidConfigs(t *testing.T) {
	for part, cfg := range map[string]basic.ReplaceConfig{
		"replace: old must have 1 to 256": {},
		"replace: old must have 1":        {Old: strings.Repeat("a", 257)},
		"replace: new equals old":         {Old: "a", New: "a"},
	} {
		c, err := basic.Replace(cfg)
		wantError(t, c, err, part)
	}
}

// FuzzReplace checks that the result is that of bytes.ReplaceAll, however writes split the body.
func FuzzReplace(f *testing.F) {
	f.Add([]byte("aabaab"), 2)
	f.Add([]byte("abaabaab"), 1)
	replace := through(f, "text/plain", must(basic.Replace(basic.ReplaceConfig{Old: "aab", New: "x"})))
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		want := string(bytes.ReplaceAll(text, []byte("aab"), []byte("x")))
		if got := replace(cut(text, max(1, n%64))); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	})
}
