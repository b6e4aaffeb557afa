package images

import (
	"bytes"
	"fmt"
	"image"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// resized makes a filter, and counts the pictures that it scales.
func resized(t testing.TB, cfg ResizeConfig) (c web.Component, scaled *atomic.Int32) {
	t.Helper()
	r, err := newResizer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	scaled = new(atomic.Int32)
	for _, f := range r.byWidth {
		change := f.change
		f.change = func(p image.Image, turned bool) image.Image {
			scaled.Add(1)
			return change(p, turned)
		}
	}
	return web.Filter(r.handle), scaled
}

func sizeOf(t *testing.T, picture string) image.Point {
	t.Helper()
	c, _, err := image.DecodeConfig(strings.NewReader(picture))
	if err != nil {
		t.Fatalf("decoding: got %v, want a picture", err)
	}
	return image.Pt(c.Width, c.Height)
}

func TestTheQueryChoosesTheWidth(t *testing.T) {
	for kind, original := range map[string][]byte{"image/jpeg": asJPEG(t, picture(600, 400)), "image/png": asPNG(t, picture(600, 400))} {
		c, _ := resized(t, ResizeConfig{Widths: []int{300, 60, 600, 1000}})
		webtest.ServeBothWays(t, web.Chain(bytesOf(kind, original), c), func(t *testing.T, url string) {
			for query, want := range map[string]image.Point{
				"": {600, 400}, "?": {600, 400}, "?other=300": {600, 400}, "?w=300": {300, 200}, "?w=60": {60, 40}, "?x=1&w=60&y": {60, 40}, "?%77=%36%30": {60, 40},
				"?w=600": {600, 400}, "?w=1000": {600, 400}, // never scaled up
			} {
				for range 2 { // the second time from the cache
					resp, body := webtest.Get(t, url+"/p"+query)
					if got := sizeOf(t, body); got != want || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != kind {
						t.Errorf("%s%s: got %d, %v, %s, want %v", kind, query, resp.StatusCode, got, resp.Header.Get("Content-Type"), want)
					}
					if unchanged := body == string(original); unchanged != (want.X == 600) {
						t.Errorf("%s%s: got the original: %v, want it if it is not wider", kind, query, unchanged)
					}
				}
			}
		})
	}
}

func TestOnlyTheConfiguredWidthsAreMade(t *testing.T) {
	c, scaled := resized(t, ResizeConfig{Widths: []int{640, 320}, Param: "width"})
	photo := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "image/jpeg")
		c.SetHeader("Etag", `"1"`)
		c.SetHeader("Cache-Control", "max-age=60")
		return web.Bytes(asJPEG(t, picture(700, 10)))
	})
	url := webtest.Serve(t, flow.Chain, web.Chain(photo, c))
	for _, query := range []string{"641", "0", "-1", "", "0640", "+640", "640.0", "6e2", "640px", "320&width=640", "320&width=320", "%20640", "640%00", "99999999999999999999", "٦٤٠"} {
		resp, body := webtest.Get(t, url+"/p?width="+query)
		if resp.StatusCode != 400 || body != "400 Bad Request: the parameter width is not one of the widths 320, 640\n" || resp.Header.Get("Etag")+resp.Header.Get("Cache-Control") != "" {
			t.Errorf("?width=%s: got %d %q %v, want 400 with the widths there are", query, resp.StatusCode, body, resp.Header)
		}
	}
	if n := scaled.Load(); n != 0 {
		t.Errorf("got %d pictures scaled, want none", n)
	}
}

// The parameter of another resource is none of the filter's business, whatever its value.
func TestOtherResponsesPassUnchanged(t *testing.T) {
	big := asPNG(t, picture(300, 200))
	missing := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "image/png")
		c.SetStatus(404)
		return web.Bytes(big)
	})
	for about, c := range map[string]struct {
		source web.Component
		cfg    ResizeConfig
		query  string
		body   []byte
	}{
		"a page":          {bytesOf("text/html", []byte("page")), ResizeConfig{}, "?w=7", []byte("page")},
		"another format":  {bytesOf("image/gif", []byte("GIF89a")), ResizeConfig{}, "?w=100", []byte("GIF89a")},
		"too many bytes":  {bytesOf("image/png", big), ResizeConfig{MaxBytes: 10}, "?w=100", big},
		"too many pixels": {bytesOf("image/png", big), ResizeConfig{MaxPixels: 10}, "?w=100", big},
		"no picture":      {bytesOf("image/png", []byte("rubbish")), ResizeConfig{}, "?w=100", []byte("rubbish")},
		"an error":        {missing, ResizeConfig{}, "?w=100", big},
	} {
		c.cfg.Widths = []int{100}
		filter, _ := resized(t, c.cfg)
		webtest.ServeBothWays(t, web.Chain(c.source, filter), func(t *testing.T, url string) {
			for range 2 {
				if _, body := webtest.Get(t, url+"/p"+c.query); body != string(c.body) {
					t.Errorf("%s: got %d other bytes, want it unchanged", about, len(body))
				}
			}
		})
	}
}

// A stranger who varies host, path and query makes the server compute nothing anew: results are
// found by the content of the picture.
func TestAPictureIsScaledOnceForEachWidth(t *testing.T) {
	for kind, original := range map[string][]byte{"image/jpeg": asJPEG(t, picture(600, 400)), "image/png": asPNG(t, picture(600, 400))} {
		c, scaled := resized(t, ResizeConfig{Widths: []int{300, 60}})
		url := webtest.Serve(t, flow.Chain, web.Chain(bytesOf(kind, original), c))
		for i := range 20 {
			webtest.Get(t, fmt.Sprintf("%s/p%d?w=300&x=%d", url, i%3, i), "Host", fmt.Sprintf("h%d.example.org", i))
			webtest.Get(t, fmt.Sprintf("%s/p%d?w=60&x=%d", url, i%3, i))
		}
		if n := scaled.Load(); n != 2 {
			t.Errorf("%s: 40 requests for 2 widths: got %d pictures scaled, want 2", kind, n)
		}
	}
}

// Requests for a result that is being made wait for it.
func TestSimultaneousRequestsAreScaledOnceForEachWorker(t *testing.T) {
	c, scaled := resized(t, ResizeConfig{Widths: []int{300}, Workers: 1, Queue: 20})
	url := webtest.Serve(t, flow.Network, web.Chain(bytesOf("image/png", asPNG(t, picture(600, 400))), c))
	client := webtest.Client(t)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if resp, _ := webtest.Fetch(t, client, "GET", url+"/?w=300", nil); resp.StatusCode != 200 {
				t.Errorf("got %d, want 200", resp.StatusCode)
			}
		})
	}
	all.Wait()
	if n := scaled.Load(); n != 1 {
		t.Errorf("10 requests at once, with one worker: got %d pictures scaled, want 1", n)
	}
}

func TestEachWidthHasAnEntityTagOfItsOwn(t *testing.T) {
	c, _ := resized(t, ResizeConfig{Widths: []int{300, 60}})
	webtest.ServeBothWays(t, web.Chain(bytesOf("image/png", asPNG(t, picture(600, 400))), c), func(t *testing.T, url string) {
		tags := map[string]string{}
		for _, query := range []string{"", "?w=300", "?w=60"} {
			first, _ := webtest.Get(t, url+query)
			again, body := webtest.Get(t, url+query)
			tag := again.Header.Get("Etag")
			if strings.TrimPrefix(first.Header.Get("Etag"), "W/") != tag || !strings.HasPrefix(tag, `"`) {
				t.Errorf("%q: got the tags %s and %s, want the same, strong from the cache", query, first.Header.Get("Etag"), tag)
			}
			if other := tags[tag]; other != "" || tag == "" {
				t.Errorf("%q: got the tag %s of %q, want one of its own", query, tag, other)
			}
			tags[tag] = query + " "
			if vary := first.Header.Get("Vary") + again.Header.Get("Vary"); vary != "" {
				t.Errorf("%q: got Vary %q, want none: the query decides", query, vary)
			}
			for _, match := range []string{tag, "W/" + tag} {
				if resp, body := webtest.Get(t, url+query, "If-None-Match", match); resp.StatusCode != 304 || body != "" {
					t.Errorf("%q, If-None-Match: %s: got %d, want 304", query, match, resp.StatusCode)
				}
			}
			if resp, _ := webtest.Get(t, url+query, "If-None-Match", `"1x"`); resp.StatusCode != 200 {
				t.Errorf("%q, another tag: got %d, want 200", query, resp.StatusCode)
			}
			head, _ := webtest.Do(t, "HEAD", url+query, nil)
			if head.StatusCode != 200 || head.ContentLength != int64(len(body)) || head.Header.Get("Etag") != tag {
				t.Errorf("HEAD %q: got %d, length %d, tag %s, want those of GET: %d, %s", query, head.StatusCode, head.ContentLength, head.Header.Get("Etag"), len(body), tag)
			}
		}
	})
}

// Two resources may have the same entity tag, and one resource another picture under another tag.
func TestResultsOfDifferentPicturesAreNotMixed(t *testing.T) {
	red, blue := asPNG(t, image.NewGray(image.Rect(0, 0, 40, 10))), asPNG(t, picture(40, 40))
	var version atomic.Int32
	photos := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "image/png")
		c.SetHeader("Etag", fmt.Sprintf(`"%d"`, version.Load()))
		if (c.Host() == "a" || c.Query("id") == "a") != (version.Load() == 1) {
			return web.Bytes(red)
		}
		return web.Bytes(blue)
	})
	c, _ := resized(t, ResizeConfig{Widths: []int{20}})
	url := webtest.Serve(t, flow.Chain, web.Chain(photos, c))
	for range 4 {
		for host, heights := range map[string][2]int{"a": {5, 20}, "b": {20, 5}} {
			want := heights[version.Load()]
			if _, body := webtest.Get(t, url+"/?w=20", "Host", host); sizeOf(t, body).Y != want {
				t.Errorf("host %s, version %d: got %v, want a height of %d", host, version.Load(), sizeOf(t, body), want)
			}
			if _, body := webtest.Get(t, url+"/?w=20&id="+host); sizeOf(t, body).Y != want {
				t.Errorf("id %s, version %d: got %v, want a height of %d", host, version.Load(), sizeOf(t, body), want)
			}
		}
		version.Store(1 - version.Load())
	}
}

// The width is the one that is shown.
func TestAPictureThatExifDataTurnIsMeasuredAsShown(t *testing.T) {
	for orientation, want := range map[byte]image.Point{1: {100, 50}, 3: {100, 50}, 5: {200, 100}, 6: {200, 100}, 8: {200, 100}, 9: {100, 50}} {
		for _, exif := range []string{
			"II*\x00\x08\x00\x00\x00" + "\x02\x00" + "\x0f\x01\x02\x00\x01\x00\x00\x00A\x00\x00\x00" + "\x12\x01\x03\x00\x01\x00\x00\x00" + string(orientation) + "\x00\x00\x00",
			"MM\x00*\x00\x00\x00\x0a??" + "\x00\x01" + "\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(orientation) + "\x00\x00",
		} {
			original := withSegment(asJPEG(t, picture(400, 200)), 0xe1, []byte("Exif\x00\x00"+exif))
			c, _ := resized(t, ResizeConfig{Widths: []int{100}})
			served(t, web.Chain(bytesOf("image/jpeg", original), web.Pipe(func(c *web.Conn) { c.Rewrite("/", "w=100") }), c), nil, func(t *testing.T, _ *http.Response, body []byte) {
				if got := sizeOf(t, string(body)); got != want {
					t.Errorf("orientation %d, %s: got %v stored, want %v", orientation, exif[:2], got, want)
				}
				if !bytes.Contains(body, []byte(exif)) {
					t.Errorf("orientation %d: got no Exif data, want them kept", orientation)
				}
			})
		}
	}
}

// One client's address may have half of the places, so that it cannot shut others out.
func TestOneClientLeavesPlacesToOthers(t *testing.T) {
	release, holding := make(chan struct{}), make(chan struct{}, 2)
	var lines []string
	r, err := newResizer(ResizeConfig{Widths: []int{100}, Workers: 1, Queue: 1, OnOverLimit: func(line string) { lines = append(lines, line) }})
	if err != nil {
		t.Fatal(err)
	}
	small := r.byWidth["100"]
	change := small.change
	small.change = func(p image.Image, turned bool) image.Image {
		holding <- struct{}{}
		<-release
		return change(p, turned)
	}
	h, err := web.New(web.Chain(bytesOf("image/png", asPNG(t, picture(300, 200))), web.Filter(r.handle)), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ask := func(from string) int {
		req := httptest.NewRequest("GET", "/?w=100", nil)
		req.RemoteAddr = from
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w.Code
	}
	codes := make(chan int, 2) // from each of two requests -> to the test; never closed
	go func() { codes <- ask("192.0.2.1:1") }()
	<-holding
	if code := ask("192.0.2.1:2"); code != 503 || len(lines) != 1 {
		t.Errorf("a second request of the same client: got %d and the lines %q, want 503 and one line", code, lines)
	}
	go func() { codes <- ask("192.0.2.2:1") }()
	close(release)
	for range 2 {
		if code := webtest.Receive(t, codes, "a response"); code != 200 {
			t.Errorf("a client with a place: got %d, want 200", code)
		}
	}
}

func TestTheCacheIsLimited(t *testing.T) {
	r, err := newResizer(ResizeConfig{Widths: []int{300, 60}, Cache: "4KB"})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	other := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "image/png")
		n++
		return web.Bytes(asPNG(t, picture(600+n, 10)))
	})
	url := webtest.Serve(t, flow.Chain, web.Chain(other, web.Filter(r.handle)))
	for range 30 {
		if _, body := webtest.Get(t, url+"/?w=60"); sizeOf(t, body).X != 60 {
			t.Errorf("got %v, want a width of 60", sizeOf(t, body))
		}
	}
	if total := r.results.Total(); total > 4<<10 || total == 0 {
		t.Errorf("got %d bytes of results, want some, and 4096 at most", total)
	}
}

// Cache-Control: no-transform forbids each filter to change a picture (RFC 9111, section 5.2.2.6).
func TestNoTransformIsRespected(t *testing.T) {
	original := asJPEG(t, picture(600, 400))
	forbids := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "image/jpeg")
		c.SetHeader("Cache-Control", "max-age=60, No-Transform")
		return web.Bytes(original)
	})
	sized, _ := resized(t, ResizeConfig{Widths: []int{300}})
	for name, c := range map[string]web.Component{"resize": sized, "watermark": marked(t, WatermarkConfig{}), "lower quality": lowered(t, LowerQualityConfig{When: "always"})} {
		url := webtest.Serve(t, flow.Chain, web.Chain(forbids, c))
		if _, body := webtest.Get(t, url+"/?w=300"); body != string(original) {
			t.Errorf("%s: got another picture, want the original", name)
		}
	}
}

func TestInvalidResizeConfigsAreRejected(t *testing.T) {
	for says, cfg := range map[string]ResizeConfig{
		"widths has 0 widths":  {},
		"widths has 33 widths": {Widths: make([]int, 33)},
		"widths has 0: choose": {Widths: []int{300, 0}},
		"widths has 16385":     {Widths: []int{16385}},
		"quality is 101":       {Widths: []int{300}, Quality: 101},
		"workers is -1":        {Widths: []int{300}, Workers: -1},
		"cache is \"big\"":     {Widths: []int{300}, Cache: "big"},
	} {
		if _, err := Resize(cfg); err == nil || !strings.HasPrefix(err.Error(), "images: resize: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: got %v, want %q", cfg, err, says)
		}
	}
}

func FuzzOrientation(f *testing.F) {
	f.Add([]byte("II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00"))
	f.Add([]byte("MM\x00*\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, tiff []byte) {
		if o := orientation(tiff); o < 0 || o > 8 {
			t.Errorf("got %d, want 0 to 8", o)
		}
	})
}
