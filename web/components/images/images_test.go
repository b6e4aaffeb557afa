package images

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// picture is a blue one with a pattern.
func picture(width, height int) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			p.SetNRGBA(x, y, color.NRGBA{uint8(x * 7 % 64), uint8(y * 5 % 64), 200, 255})
		}
	}
	return p
}

func asJPEG(t testing.TB, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, p, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(t testing.TB, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// mark is the file of a red mark.
func mark(t testing.TB, width, height int) string {
	t.Helper()
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	draw.Draw(p, p.Bounds(), image.NewUniform(color.NRGBA{255, 0, 0, 255}), image.Point{}, draw.Src)
	name := filepath.Join(t.TempDir(), "mark.png")
	if err := os.WriteFile(name, asPNG(t, p), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func marked(t testing.TB, cfg WatermarkConfig) web.Component {
	t.Helper()
	if cfg.Image == "" {
		cfg.Image = mark(t, 20, 10)
	}
	c, err := Watermark(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func lowered(t testing.TB, cfg LowerQualityConfig) web.Component {
	t.Helper()
	c, err := LowerQuality(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// source gives a body as a file server would.
func source(kind string, body func() web.Body) web.Component {
	return web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", kind)
		c.SetHeader("ETag", `"1"`)
		return body()
	})
}

func bytesOf(kind string, b []byte) web.Component {
	return source(kind, func() web.Body { return web.Bytes(b) })
}

// served is what a composition answers, each way.
func served(t *testing.T, c web.Component, header []string, check func(t *testing.T, resp *http.Response, body []byte)) {
	t.Helper()
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		resp, body := webtest.Get(t, url, header...)
		check(t, resp, []byte(body))
	})
}

// red says whether a point is the mark's colour.
func red(p image.Image, x, y int) bool {
	r, g, b, _ := p.At(x, y).RGBA()
	return r > 0xc000 && g < 0x5000 && b < 0x5000
}

func TestTheMarkStandsWhereItShould(t *testing.T) {
	const width, height, margin = 300, 200, 10
	pictures := map[string][]byte{"image/jpeg": asJPEG(t, picture(width, height)), "image/png": asPNG(t, picture(width, height))}
	for place, at := range map[string]image.Point{
		"top-left": {margin, margin}, "top": {140, margin}, "top-right": {270, margin},
		"left": {margin, 95}, "center": {140, 95}, "right": {270, 95},
		"bottom-left": {margin, 180}, "bottom": {140, 180}, "bottom-right": {270, 180},
	} {
		f := WatermarkConfig{Place: place, Margin: margin}
		for kind, b := range pictures {
			served(t, web.Chain(bytesOf(kind, b), marked(t, f)), nil, func(t *testing.T, resp *http.Response, body []byte) {
				p, format, err := image.Decode(bytes.NewReader(body))
				if err != nil || "image/"+format != kind || resp.Header.Get("Content-Type") != kind {
					t.Fatalf("%s: got %s, sent as %s (%v), want it in its format", kind, format, resp.Header.Get("Content-Type"), err)
				}
				if resp.Header.Get("ETag") != `W/"1"` {
					t.Errorf("ETag %s, want a weak one", resp.Header.Get("ETag"))
				}
				for y := 4; y < height; y += 4 { // between the pixels of 4:2:0 at the mark's edges
					for x := 4; x < width; x += 4 {
						d := image.Pt(x, y).Sub(at)
						inside := d.X >= 2 && d.X < 18 && d.Y >= 2 && d.Y < 8
						outside := d.X < -8 || d.X >= 28 || d.Y < -8 || d.Y >= 18
						if inside && !red(p, x, y) || outside && red(p, x, y) {
							t.Fatalf("%s: at %d,%d: got %v (inside the mark: %t), want red inside the mark only", place, x, y, p.At(x, y), inside)
						}
					}
				}
			})
		}
	}
}

func TestALargeMarkIsScaledDown(t *testing.T) {
	c := marked(t, WatermarkConfig{Image: mark(t, 900, 900), Place: "center"})
	served(t, web.Chain(bytesOf("image/png", asPNG(t, picture(300, 200))), c), nil, func(t *testing.T, _ *http.Response, body []byte) {
		p, err := png.Decode(bytes.NewReader(body))
		if err != nil || !red(p, 150, 100) || red(p, 150-40, 100) || red(p, 150, 100-40) {
			t.Errorf("got %v and %v 40 pixels left of and above the mark's centre (%v), want the mark a third of the height", p.At(110, 100), p.At(150, 60), err)
		}
	})
}

func TestOpacityMixesTheMarkWithThePicture(t *testing.T) {
	c := marked(t, WatermarkConfig{Place: "center", Opacity: .5})
	served(t, web.Chain(bytesOf("image/png", asPNG(t, picture(300, 200))), c), nil, func(t *testing.T, _ *http.Response, body []byte) {
		p, err := png.Decode(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if r, _, b, _ := p.At(150, 100).RGBA(); r>>8 < 120 || r>>8 > 170 || b>>8 < 90 || b>>8 > 110 {
			t.Errorf("got %v, want half red, half blue", p.At(150, 100))
		}
	})
}

// A filter that cannot change a response passes it on byte for byte.
func TestUnsuitableResponsesPassUnchanged(t *testing.T) {
	big, small := asPNG(t, picture(300, 200)), asPNG(t, picture(100, 300))
	streamed := func(b []byte) web.Component {
		return source("image/png", func() web.Body {
			return web.Stream(-1, func(w io.Writer) error {
				for rest := b; len(rest) > 0; {
					n := min(len(rest), 100)
					if _, err := w.Write(rest[:n]); err != nil {
						return err
					}
					rest = rest[n:]
				}
				return nil
			})
		})
	}
	coded := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "image/png")
		c.SetHeader("Content-Encoding", "br")
		return web.Bytes(big)
	})
	missing := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "image/png")
		c.SetStatus(404)
		return web.Bytes(big)
	})
	begun := []byte("\xff\xd8 not quite a picture")
	for about, c := range map[string]struct {
		source web.Component
		cfg    WatermarkConfig
		want   []byte
	}{
		"text":                                 {bytesOf("text/html", big), WatermarkConfig{}, big},
		"a coded body":                         {coded, WatermarkConfig{}, big},
		"a page of an error":                   {missing, WatermarkConfig{}, big},
		"too many bytes":                       {bytesOf("image/png", big), WatermarkConfig{MaxBytes: len(big) - 1}, big},
		"too many bytes of a stream":           {streamed(big), WatermarkConfig{MaxBytes: len(big) - 1}, big},
		"too many bytes of a stream, at once":  {streamed(big), WatermarkConfig{MaxBytes: 10}, big},
		"too many pixels":                      {bytesOf("image/png", big), WatermarkConfig{MaxPixels: 300*200 - 1}, big},
		"too small":                            {bytesOf("image/png", small), WatermarkConfig{}, small},
		"no picture":                           {bytesOf("image/png", []byte("rubbish")), WatermarkConfig{}, []byte("rubbish")},
		"a picture that is cut off":            {bytesOf("image/png", big[:len(big)/2]), WatermarkConfig{}, big[:len(big)/2]},
		"another format than it says":          {bytesOf("image/jpeg", big), WatermarkConfig{}, big},
		"no more than the beginning of a JPEG": {bytesOf("image/jpeg", begun), WatermarkConfig{}, begun},
		"an animation":                         {bytesOf("image/png", withChunk(big, "acTL", make([]byte, 8))), WatermarkConfig{}, withChunk(big, "acTL", make([]byte, 8))},
		"nothing":                              {bytesOf("image/png", nil), WatermarkConfig{}, nil},
	} {
		t.Run(about, func(t *testing.T) {
			served(t, web.Chain(c.source, marked(t, c.cfg)), nil, func(t *testing.T, resp *http.Response, body []byte) {
				if !bytes.Equal(body, c.want) {
					t.Errorf("%d bytes were changed to %d", len(c.want), len(body))
				}
			})
		})
	}
}

// The picture claims 60,000 by 60,000 pixels in a few bytes.
func TestAPictureOfTooManyPixelsIsNotDecoded(t *testing.T) {
	bomb := asPNG(t, image.NewGray(image.Rect(0, 0, 1, 1)))
	binary.BigEndian.PutUint32(bomb[16:], 60_000)
	binary.BigEndian.PutUint32(bomb[20:], 60_000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	if c, err := png.DecodeConfig(bytes.NewReader(bomb)); err != nil || c.Width != 60_000 {
		t.Fatalf("the constructed picture: got %+v (%v), want a width of 60000", c, err)
	}
	served(t, web.Chain(bytesOf("image/png", bomb), marked(t, WatermarkConfig{})), nil, func(t *testing.T, _ *http.Response, body []byte) {
		if !bytes.Equal(body, bomb) {
			t.Errorf("got %d other bytes, want the picture as it is: it has too many pixels to decode", len(body))
		}
	})
}

func TestAFileThatIsTooLargeKeepsItsRanges(t *testing.T) {
	b := asPNG(t, picture(300, 200))
	name := filepath.Join(t.TempDir(), "p.png")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	file := source("image/png", func() web.Body {
		f, err := os.Open(name)
		if err != nil {
			t.Errorf("opening the picture: got %v, want a file", err)
		}
		return web.File(f, 0, int64(len(b)))
	})
	served(t, web.Chain(file, marked(t, WatermarkConfig{MaxBytes: 10})), nil, func(t *testing.T, resp *http.Response, body []byte) {
		if !bytes.Equal(body, b) || resp.Header.Get("ETag") != `"1"` || resp.Header.Get("Accept-Ranges") != "bytes" || resp.ContentLength != int64(len(b)) {
			t.Errorf("got %d bytes, fields %v, want the file as it is, its strong tag and its ranges", len(body), resp.Header)
		}
	})
}

func TestLowerQualityAppliesAsConfigured(t *testing.T) {
	b := asJPEG(t, picture(1400, 100))
	save := []string{"Save-Data", " on "}
	for _, c := range []struct {
		about  string
		cfg    LowerQualityConfig
		header []string
		width  int  // of the picture that is sent
		same   bool // it is sent as it is
	}{
		{"nobody asks", LowerQualityConfig{}, nil, 1400, true},
		{"it is asked for", LowerQualityConfig{}, save, 1280, false},
		{"it is said that it is not asked for", LowerQualityConfig{}, []string{"Save-Data", "off"}, 1400, true},
		{"always", LowerQualityConfig{When: "always"}, nil, 1280, false},
		{"to another size", LowerQualityConfig{MaxSide: 100}, save, 100, false},
		{"by quality alone", LowerQualityConfig{MaxSide: -1}, save, 1400, false},
		{"with nothing to gain", LowerQualityConfig{MaxSide: -1, Quality: 100}, save, 1400, true},
	} {
		t.Run(c.about, func(t *testing.T) {
			served(t, web.Chain(bytesOf("image/jpeg", b), lowered(t, c.cfg)), c.header, func(t *testing.T, resp *http.Response, body []byte) {
				size, err := jpeg.DecodeConfig(bytes.NewReader(body))
				if err != nil || size.Width != c.width || bytes.Equal(b, body) != c.same || len(body) > len(b) {
					t.Errorf("got a width of %d, %d bytes of %d (%v), want %d, unchanged: %t, and never more bytes", size.Width, len(body), len(b), err, c.width, c.same)
				}
				if varies := resp.Header.Get("Vary") == "Save-Data"; varies == (c.cfg.When == "always") {
					t.Errorf("got Vary %q, want Save-Data exactly if the field decides", resp.Header.Get("Vary"))
				}
			})
		})
	}
}

func TestMoreThanCanWaitIs503(t *testing.T) {
	b := asPNG(t, picture(300, 200))
	c, release, holding := marked(t, WatermarkConfig{Workers: 1, Queue: 1}), make(chan struct{}), make(chan struct{}, 3)
	hold := source("image/png", func() web.Body {
		return web.Stream(-1, func(w io.Writer) error {
			holding <- struct{}{}
			<-release
			_, err := w.Write(b)
			return err
		})
	})
	url, client := webtest.Serve(t, flow.Chain, web.Chain(hold, c)), webtest.Client(t)
	answers := make(chan int, 2) // from each of two requests -> to the test; never closed
	ask := func() int {
		resp, err := client.Get(url)
		if err != nil {
			t.Errorf("GET: got %v, want a response", err)
			return 0
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	for range 2 {
		go func() { answers <- ask() }()
		<-holding
	}
	if status := ask(); status != 503 {
		t.Errorf("the third: %d, want 503", status)
	}
	close(release)
	for range 2 {
		if status := <-answers; status != 200 {
			t.Errorf("one of the first two: got %d, want 200", status)
		}
	}
	if status := ask(); status != 200 {
		t.Errorf("after the first two: got %d, want 200", status)
	}
}

func TestConfigIsRefused(t *testing.T) {
	good, empty := mark(t, 10, 10), filepath.Join(t.TempDir(), "empty.png")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		build func() (web.Component, error)
		says  string
	}{
		{func() (web.Component, error) { return Watermark(WatermarkConfig{}) }, "image is not set"},
		{func() (web.Component, error) { return Watermark(WatermarkConfig{Image: "not/there"}) }, "not/there"},
		{func() (web.Component, error) { return Watermark(WatermarkConfig{Image: empty}) }, "empty.png"},
		{func() (web.Component, error) { return Watermark(WatermarkConfig{Image: mark(t, 2000, 1000)}) }, "smaller than a million"},
		{func() (web.Component, error) { return Watermark(WatermarkConfig{Image: good, Place: "middle"}) }, `place is "middle"`},
		{func() (web.Component, error) { return Watermark(WatermarkConfig{Image: good, Opacity: 2}) }, "opacity is 2"},
		{func() (web.Component, error) { return Watermark(WatermarkConfig{Image: good, Quality: 101}) }, "quality is 101"},
		{func() (web.Component, error) { return Watermark(WatermarkConfig{Image: good, MaxBytes: -1}) }, "max_bytes is -1"},
		{func() (web.Component, error) { return LowerQuality(LowerQualityConfig{When: "never"}) }, `when is "never"`},
		{func() (web.Component, error) { return LowerQuality(LowerQualityConfig{Quality: -1}) }, "quality is -1"},
		{func() (web.Component, error) { return LowerQuality(LowerQualityConfig{Workers: -1}) }, "workers is -1"},
	} {
		if _, err := c.build(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v, want %q", err, c.says)
		}
	}
}

func Example() {
	file := filepath.Join(os.TempDir(), "example-mark.png")
	defer os.Remove(file)
	var logo, photo bytes.Buffer
	_ = png.Encode(&logo, image.NewNRGBA(image.Rect(0, 0, 40, 20)))
	_ = os.WriteFile(file, logo.Bytes(), 0o600)
	_ = jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 1600, 200)), nil)

	watermark, err := Watermark(WatermarkConfig{Image: file, Opacity: .4})
	if err != nil {
		fmt.Println(err)
		return
	}
	lower, err := LowerQuality(LowerQualityConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	photos := web.Source(func(c *web.Conn) web.Body {
		c.SetHeader("Content-Type", "image/jpeg")
		return web.Bytes(photo.Bytes())
	})
	h, err := web.New(web.Chain(photos, watermark, lower), web.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Save-Data", "on")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	size, _ := jpeg.DecodeConfig(w.Body)
	fmt.Println(w.Header().Get("Content-Type"), size.Width, size.Height)
	// Output: image/jpeg 1280 160
}
