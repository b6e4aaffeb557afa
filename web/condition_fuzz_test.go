package web_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/web"
)

// FuzzConditions sends arbitrary preconditions and ranges. The response must be complete, the range
// that it declares, or a status that has neither.
func FuzzConditions(f *testing.F) {
	at := changed.Format("Mon, 02 Jan 2006 15:04:05 GMT")
	f.Add(`"v1"`, "", "", "", "", "")
	f.Add("", `"v0", W/"v1"`, at, "", "", "")
	f.Add("*", "", "", at, "", "bytes=2-4")
	f.Add("", "", "", "", `"v1"`, "bytes=-3")
	f.Add("", "", "", "", at, "bytes=0-1,4-5")
	f.Add("", "", "", "", "", "bytes=-0")
	f.Add("", "", "", "", "", "bytes=-0,")
	f.Add("", "", "", "", "", "bytes=, 1-2")
	f.Add("", "", "", "", "", "bytes=-0,-0")
	h, err := web.New(web.Source(func(c *web.Conn) web.Body { head(c); return web.String(whole) }), web.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = h.Close() })
	f.Fuzz(func(t *testing.T, match, noneMatch, modified, unmodified, ifRange, ranges string) {
		r := httptest.NewRequest("GET", "/", nil)
		for name, v := range map[string]string{"If-Match": match, "If-None-Match": noneMatch, "If-Modified-Since": modified, "If-Unmodified-Since": unmodified, "If-Range": ifRange, "Range": ranges} {
			if v = strings.TrimSpace(v); v != "" { // as the engine parses it
				r.Header.Set(name, v)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		body, says := w.Body.String(), w.Header().Get("Content-Range")
		switch w.Code {
		case 200:
			if body != whole || says != "" {
				t.Errorf("200: got body %q, Content-Range %q, want the whole body and no Content-Range", body, says)
			}
		case 206:
			if strings.HasPrefix(w.Header().Get("Content-Type"), "multipart/byteranges") {
				return
			}
			var from, to, size int
			if n, err := fmt.Sscanf(says, "bytes %d-%d/%d", &from, &to, &size); n != 3 || err != nil || from > to || to >= len(whole) || size != len(whole) || body != whole[from:to+1] {
				t.Errorf("206: got body %q, Content-Range %q, want the bytes that Content-Range names of %d (RFC 9110, 14.4)", body, says, len(whole))
			}
		case 304, 412, 416:
			if strings.Contains(body, whole) {
				t.Errorf("got %d %q, want no content of the resource", w.Code, body)
			}
		default:
			t.Errorf("got status %d, want 200, 206, 304, 412 or 416", w.Code)
		}
	})
}
