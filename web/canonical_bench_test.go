package web

import (
	"net/http/httptest"
	"testing"
)

// What a request that is canonical already costs, of the some 10 us that it takes in all.
func BenchmarkCanonicalRequest(b *testing.B) {
	r := httptest.NewRequest("GET", "/static/js/vendor/app-2f3c9a.min.js?v=3", nil)
	r.Host = "www.example.org:8080"
	b.ReportAllocs()
	for b.Loop() {
		if !isCanonical(r) {
			b.Fatal("not canonical")
		}
	}
}

func TestACanonicalRequestIsNotCopied(t *testing.T) {
	r := httptest.NewRequest("GET", "/static/js/app.js?v=3", nil)
	if n := testing.AllocsPerRun(100, func() { isCanonical(r) }); n != 0 || !isCanonical(r) {
		t.Errorf("got %v allocations, canonical %v, want none, and that it is", n, isCanonical(r))
	}
}
