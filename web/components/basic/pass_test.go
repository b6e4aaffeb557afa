package basic_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExamplePass() {
	ask(web.Chain(basic.Pass(), basic.Text("hello"), basic.Pass()), "GET /", "Content-Length")
	// Output:
	// 200 OK
	// Content-Length: 5
	// hello
}

func ExamplePassPiped() {
	ask(web.Chain(basic.Text("hello"), basic.PassPiped(), basic.PassPiped()), "GET /")
	// Output:
	// 200 OK
	// hello
}

func TestPassChangesNothing(t *testing.T) {
	text := strings.Repeat("0123456789", 10_000)
	for name, c := range map[string]web.Component{"pass": basic.Pass(), "piped": basic.PassPiped()} {
		t.Run(name, func(t *testing.T) {
			webtest.ServeBothWays(t, web.Chain(basic.Text(text), c, c, c), func(t *testing.T, url string) {
				if _, body := webtest.Get(t, url); body != text {
					t.Errorf("got %d bytes, want the body unchanged", len(body))
				}
			})
		})
	}
}

// BenchmarkPass measures the cost of a component that does nothing: compare different numbers of
// components.
func BenchmarkPass(b *testing.B) {
	for _, kind := range []struct {
		name string
		make func() web.Component
	}{{"pipe", basic.Pass}, {"io.Pipe", basic.PassPiped}} {
		for _, n := range []int{0, 1, 8} {
			b.Run(fmt.Sprintf("%s/components=%d", kind.name, n), func(b *testing.B) {
				parts := []web.Component{basic.Text(strings.Repeat("x", 4<<10))}
				for range n {
					parts = append(parts, kind.make())
				}
				r, _ := http.NewRequest("GET", "http://h/", nil)
				benchmark(b, web.Chain(parts...), r)
			})
		}
	}
}
