package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/web"
	"weir/web/internal/webtest"
)

const whole = "0123456789abcdef"

// asFile is a source of a section of a file, so that errors in offsets show.
func asFile(t *testing.T) web.Component {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("###"+whole+"###"), 0o644); err != nil {
		t.Fatal(err)
	}
	return web.Source(func(c *web.Conn) web.Body {
		f, err := os.Open(name)
		if err != nil {
			return c.Fail(500, err)
		}
		head(c)
		return web.File(f, 3, int64(len(whole)))
	})
}

var changed = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func head(c *web.Conn) {
	c.SetHeader("ETag", `"v1"`)
	c.SetHeader("Last-Modified", changed.Format(http.TimeFormat))
	c.SetHeader("Content-Type", "text/plain")
}

func TestConditionsAndRangesFollowRFC9110(t *testing.T) {
	before, after := changed.Add(-time.Hour).Format(http.TimeFormat), changed.Add(time.Hour).Format(http.TimeFormat)
	at := changed.Format(http.TimeFormat)
	cases := []struct {
		why    string // section of RFC 9110 and requirement
		header []string
		status int
		body   string
	}{
		{"no condition", nil, 200, whole},
		{"13.1.2: false if one of the tags is the same by the weak comparison", []string{"If-None-Match", `"v0", W/"v1"`}, 304, ""},
		{"13.1.2: * is false if there is a representation", []string{"If-None-Match", "*"}, 304, ""},
		{"13.1.2: true if none is the same", []string{"If-None-Match", `"v0", "v,1"`}, 200, whole},
		{"13.1.2: a malformed list has no tag", []string{"If-None-Match", `v1`}, 200, whole},
		{"13.1.3: not modified since", []string{"If-Modified-Since", at}, 304, ""},
		{"13.1.3: modified since", []string{"If-Modified-Since", before}, 200, whole},
		{"13.1.3: ignored if there is an If-None-Match", []string{"If-Modified-Since", after, "If-None-Match", `"v0"`}, 200, whole},
		{"13.1.3: ignored if it is no date", []string{"If-Modified-Since", "yesterday"}, 200, whole},
		{"13.1.1: true if one is the same by the strong comparison", []string{"If-Match", `"v0", "v1"`}, 200, whole},
		{"13.1.1: a weak tag is never the same", []string{"If-Match", `W/"v1"`}, 412, "412 Precondition Failed\n"},
		{"13.1.4: unmodified since", []string{"If-Unmodified-Since", at}, 200, whole},
		{"13.1.4: modified since", []string{"If-Unmodified-Since", before}, 412, "412 Precondition Failed\n"},
		{"13.1.4: ignored if there is an If-Match", []string{"If-Unmodified-Since", before, "If-Match", "*"}, 200, whole},
		{"14.1.2: first and last", []string{"Range", "bytes=2-4"}, 206, "234"},
		{"14.1.2: the first byte", []string{"Range", "bytes=0-0"}, 206, "0"},
		{"14.1.2: from the first to the end", []string{"Range", "bytes=14-"}, 206, "ef"},
		{"14.1.2: the last bytes", []string{"Range", "bytes=-3"}, 206, "def"},
		{"14.1.2: more than there are", []string{"Range", "bytes=-99"}, 206, whole},
		{"14.1.2: an end behind the end", []string{"Range", "bytes=15-99"}, 206, "f"},
		{"14.2: a unit that is not understood is ignored", []string{"Range", "lines=1-2"}, 200, whole},
		{"15.5.17: none of it is there", []string{"Range", "bytes=16-"}, 416, ""},
		{"14.1.2: the last none", []string{"Range", "bytes=-0"}, 416, ""},
		{"14.1.2: an end that is no number of a machine", []string{"Range", "bytes=15-99999999999999999999"}, 206, "f"},
		{"14.1.2: a beginning that is none", []string{"Range", "bytes=99999999999999999999-"}, 416, ""},
		{"13.1.5: the date holds, and none of it is there", []string{"Range", "bytes=16-", "If-Range", at}, 416, ""},
		{"13.1.5: the tag holds", []string{"Range", "bytes=2-4", "If-Range", `"v1"`}, 206, "234"},
		{"13.1.5: the tag does not hold", []string{"Range", "bytes=2-4", "If-Range", `"v0"`}, 200, whole},
		{"13.1.5: a weak tag never holds", []string{"Range", "bytes=2-4", "If-Range", `W/"v1"`}, 200, whole},
		{"13.1.5: the date holds", []string{"Range", "bytes=2-4", "If-Range", at}, 206, "234"},
		{"13.1.5: a later date does not", []string{"Range", "bytes=2-4", "If-Range", after}, 200, whole},
		{"13.2.2: the condition comes before the range", []string{"Range", "bytes=2-4", "If-None-Match", `"v1"`}, 304, ""},
	}
	sources := map[string]web.Component{"bytes": web.Source(func(c *web.Conn) web.Body { head(c); return web.String(whole) }), "file": asFile(t)}
	for kind, source := range sources {
		webtest.ServeBothWays(t, source, func(t *testing.T, url string) {
			for _, c := range cases {
				resp, body := get(t, url, c.header...)
				if resp.StatusCode != c.status || c.body != "" && body != c.body {
					t.Errorf("%s: %s: got %d %q, want %d %q", kind, c.why, resp.StatusCode, body, c.status, c.body)
				}
				if c.status < 400 && resp.Header.Get("ETag") != `"v1"` {
					t.Errorf("%s: %s: got ETag %q, want \"v1\" in quotes", kind, c.why, resp.Header.Get("ETag"))
				}
				if resp.StatusCode == 416 && resp.Header.Get("Content-Range") != "bytes */16" {
					t.Errorf("%s: %s: got Content-Range %q, want bytes */16 with 416 (RFC 9110, 14.4)", kind, c.why, resp.Header.Get("Content-Range"))
				}
				if resp.StatusCode == 206 && !strings.HasSuffix(resp.Header.Get("Content-Range"), "/16") {
					t.Errorf("%s: %s: got Content-Range %q, want one of 16 bytes", kind, c.why, resp.Header.Get("Content-Range"))
				}
			}
		})
	}
}

func TestSeveralRangesAreMultipart(t *testing.T) {
	webtest.ServeBothWays(t, asFile(t), func(t *testing.T, url string) {
		resp, body := get(t, url, "Range", "bytes=0-1,4-5")
		if resp.StatusCode != 206 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "multipart/byteranges") {
			t.Fatalf("got %d %v, want 206 and multipart/byteranges (RFC 9110, 15.3.7.2)", resp.StatusCode, resp.Header)
		}
		for _, part := range []string{"Content-Range: bytes 0-1/16\r\n", "\r\n\r\n01\r\n", "Content-Range: bytes 4-5/16\r\n", "\r\n\r\n45\r\n"} {
			if !strings.Contains(body, part) {
				t.Errorf("want %q in the body, got %q", part, body)
			}
		}
	})
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	webtest.ServeBothWays(t, asFile(t), func(t *testing.T, url string) {
		resp, err := http.Head(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.ContentLength != 16 || resp.Header.Get("ETag") != `"v1"` || resp.Header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("HEAD: got length %d, fields %v, want 16, and the ETag and Accept-Ranges of GET", resp.ContentLength, resp.Header)
		}
	})
}

// A file that became shorter must not look complete.
func TestShrinkingFileClosesTheConnection(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, make([]byte, 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	c := web.Source(func(c *web.Conn) web.Body {
		f, err := os.Open(name)
		if err != nil {
			return c.Fail(500, err)
		}
		return web.File(f, 0, 2000)
	})
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		resp, err := http.Get(url)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		if n, err := resp.Body.Read(make([]byte, 4000)); err == nil && n >= 2000 {
			t.Errorf("got %d bytes and no error, want a truncated body", n)
		}
	})
}
