package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir/web/internal/webtest"
)

func TestPrecompressedSiblingIsSentIfAccepted(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.html": "plain", "a.html.br": "brotli", "a.html.gz": "gzipped", "b.css": "plain", "c.js": "plain", "c.js.zst": "zstandard", "old.js": "new", "old.js.gz": "old", "d/index.html": "plain", "d/index.html.gz": "gzipped",
	})
	age(t, filepath.Join(dir, "old.js.gz"), time.Hour)
	for _, cache := range []string{"", "0"} {
		s := serve(t, Config{Dir: dir, Cache: cache})
		tags := map[string]string{}
		for _, c := range []struct{ target, accept, body, coding, kind, vary string }{
			{"/a.html", "gzip, br", "brotli", "br", "text/html; charset=utf-8", "Accept-Encoding"},
			{"/a.html", "gzip;q=1, br;q=0.9", "gzipped", "gzip", "text/html; charset=utf-8", "Accept-Encoding"},
			{"/a.html", "zstd", "plain", "", "text/html; charset=utf-8", "Accept-Encoding"},
			{"/a.html", "br;q=0", "plain", "", "text/html; charset=utf-8", "Accept-Encoding"},
			{"/a.html", "", "plain", "", "text/html; charset=utf-8", "Accept-Encoding"},
			{"/b.css", "gzip, br, zstd", "plain", "", "text/css; charset=utf-8", ""},
			{"/c.js", "gzip, br, zstd", "zstandard", "zstd", "text/javascript; charset=utf-8", "Accept-Encoding"},
			{"/old.js", "gzip", "new", "", "text/javascript; charset=utf-8", ""},
			{"/d/", "gzip", "gzipped", "gzip", "text/html; charset=utf-8", "Accept-Encoding"},
		} {
			for range 2 {
				resp, body := get(t, s, c.target, "Accept-Encoding", c.accept)
				h := resp.Header
				if body != c.body || h.Get("Content-Encoding") != c.coding || h.Get("Content-Type") != c.kind || h.Get("Vary") != c.vary || resp.ContentLength != int64(len(c.body)) {
					t.Errorf("cache %q: GET %s, Accept-Encoding: %s: got %q %v, want the sibling of the coding", cache, c.target, c.accept, body, h)
				}
				tag := h.Get("Etag")
				if was, ok := tags[c.target+tag]; ok && was != c.coding {
					t.Errorf("GET %s: got for %q the tag of %q, want another tag", c.target, c.coding, was)
				}
				tags[c.target+tag] = c.coding
			}
		}
		resp, _ := get(t, s, "/a.html", "Accept-Encoding", "br")
		if resp, body := get(t, s, "/a.html", "Accept-Encoding", "br", "Range", "bytes=1-2", "If-Range", resp.Header.Get("Etag")); cache == "" && (resp.StatusCode != 206 || body != "ro") {
			t.Errorf("a range of the compressed file: got %d %q, want 206 \"ro\"", resp.StatusCode, body)
		}
	}
	only := serve(t, Config{Dir: dir, Precompressed: []string{"gzip", "br"}})
	if _, body := get(t, only, "/a.html", "Accept-Encoding", "br, gzip"); body != "gzipped" {
		t.Errorf("with gzip before br: got %q, want \"gzipped\"", body)
	}
	none := serve(t, Config{Dir: dir, Precompressed: []string{}})
	if resp, body := get(t, none, "/a.html", "Accept-Encoding", "br, gzip"); body != "plain" || resp.Header.Get("Vary") != "" {
		t.Errorf("with none: got %q %v, want \"plain\" and no Vary", body, resp.Header)
	}
}

// TestSiblingsThatAppearAndDisappear checks that the cache notices siblings that appear, change and
// disappear.
func TestSiblingsThatAppearAndDisappear(t *testing.T) {
	dir := tree(t, map[string]string{"a.html": "plain"})
	s := serve(t, Config{Dir: dir})
	is := func(want string) func() bool {
		return func() bool { _, body := get(t, s, "/a.html", "Accept-Encoding", "gzip"); return body == want }
	}
	webtest.Until(t, "no sibling is seen", is("plain"))
	write(t, dir, "a.html.gz", "one")
	webtest.Until(t, "a sibling is seen", is("one"))
	write(t, dir, "a.html.gz", "two")
	webtest.Until(t, "another is seen", is("two"))
	if err := os.Remove(filepath.Join(dir, "a.html.gz")); err != nil {
		t.Fatal(err)
	}
	webtest.Until(t, "none any more is seen", is("plain"))
}
