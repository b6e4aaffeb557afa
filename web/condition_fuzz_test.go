package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/web"
)

// FuzzConditions holds what a composition makes of conditions and ranges against what net/http's ServeContent makes of them. They differ where
// a Range is of a unit that is not bytes, which RFC 9110 section 14.2 has ignored, and where a star stands in a list of tags.
func FuzzConditions(f *testing.F) {
	at := changed.Format(http.TimeFormat)
	f.Add(`"v1"`, "", "", "", "", "")
	f.Add("", `"v0", W/"v1"`, at, "", "", "")
	f.Add("*", "", "", at, "", "bytes=2-4")
	f.Add("", "", "", "", `"v1"`, "bytes=-3")
	f.Add("", "", "", "", at, "bytes=0-1,4-5")
	source := web.Source(func(c *web.Conn) web.Body { head(c); return web.String(whole) })
	h, err := web.New(source, web.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = h.Close() })
	f.Fuzz(func(t *testing.T, match, noneMatch, modified, unmodified, ifRange, ranges string) {
		if ranges != "" && !strings.HasPrefix(strings.TrimSpace(ranges), "bytes=") {
			t.Skip("no range of bytes")
		}
		for _, list := range []string{match, noneMatch} {
			if strings.Contains(list, "*") && list != "*" {
				t.Skip("a star in a list, which is malformed")
			}
		}
		ask := func(h http.Handler) *httptest.ResponseRecorder {
			r := httptest.NewRequest("GET", "/", nil)
			for name, v := range map[string]string{"If-Match": match, "If-None-Match": noneMatch, "If-Modified-Since": modified, "If-Unmodified-Since": unmodified, "If-Range": ifRange, "Range": ranges} {
				if v = strings.TrimSpace(v); v != "" { // as the engine reads it
					r.Header.Set(name, v)
				}
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		ours := ask(h)
		theirs := ask(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Content-Type", "text/plain")
			http.ServeContent(w, r, "", changed, strings.NewReader(whole))
		}))
		if ours.Code != theirs.Code {
			t.Fatalf("%d, ServeContent %d", ours.Code, theirs.Code)
		}
		multipart := strings.HasPrefix(theirs.Header().Get("Content-Type"), "multipart/") // with a random boundary
		if ours.Code < 300 && !multipart && ours.Body.String() != theirs.Body.String() {
			t.Errorf("%q, ServeContent %q", ours.Body.String(), theirs.Body.String())
		}
	})
}
