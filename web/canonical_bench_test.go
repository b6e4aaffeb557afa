package web

import (
	"net/http/httptest"
	"testing"
)

// BenchmarkCanonicalRequest measures the check of a request that is canonical already. A whole
// request takes some 10 us.
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
		t.Errorf("got %v allocations, canonical %v, want 0 and true", n, isCanonical(r))
	}
}
