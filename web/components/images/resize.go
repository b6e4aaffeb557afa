package images

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"image"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"weir/web"
	"weir/web/components/internal/memory"
	"weir/web/components/internal/tag"
	"weir/web/components/internal/unit"
)

// ResizeConfig configures [Resize].
type ResizeConfig struct {
	// Widths are the widths in pixels that clients may request, at most 32, each 1 to 16384. It
	// must be set. Another width is answered by 400.
	Widths []int `hcl:"widths"`
	// Param is the name of the query parameter: with "w", the query ?w=640 requests the width 640.
	// Empty: "w".
	Param string `hcl:"param,optional"`
	// Quality is the JPEG quality, 1 to 100. 0: 82.
	Quality int `hcl:"quality,optional"`
	// Cache is the most memory that results use, such as "256MB". Empty: "64MB". "0": no cache.
	Cache string `hcl:"cache,optional"`

	// MaxBytes is the size in bytes above which a file stays unchanged. 0: 8,388,608 (8 MiB).
	MaxBytes int `hcl:"max_bytes,optional"`
	// MaxPixels is the number of pixels above which a picture stays unchanged. 0: 16,777,216.
	MaxPixels int `hcl:"max_pixels,optional"`
	// Workers is the number of pictures that are processed at once. 0: the number of CPUs.
	Workers int `hcl:"workers,optional"`
	// Queue is the number of pictures that may wait. 0: 4 times Workers.
	Queue int `hcl:"queue,optional"`

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// the places. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

// The greatest number of widths, and the greatest width.
const (
	maxWidths = 32
	maxWidth  = 16384
)

// Resize is a filter that scales a picture down to the width that the query requests. The height
// follows. A picture that is not wider stays as it is: it is never scaled up. The width is that
// which is shown, also of a picture that Exif data turn by a quarter.
func Resize(cfg ResizeConfig) (web.Component, error) {
	r, err := newResizer(cfg)
	if err != nil {
		return nil, err
	}
	return web.Named("resize", web.Filter(r.handle)), nil
}

func newResizer(cfg ResizeConfig) (*resizer, error) {
	l, err := limits{cfg.MaxBytes, cfg.MaxPixels, cfg.Workers, cfg.Queue}.withDefaults("resize")
	if err != nil {
		return nil, err
	}
	r := &resizer{param: cmp.Or(cfg.Param, "w"), limits: l, byWidth: map[string]*filter{}}
	if err := r.setWidths(cfg); err != nil {
		return nil, err
	}
	size, err := unit.Size("images: resize: cache", cfg.Cache, 64<<20)
	if err != nil {
		return nil, err
	}
	r.results = memory.New[resultKey, []byte](size)
	r.contents = memory.New[sourceKey, contentHash](size / 16)
	return r, nil
}

// setWidths makes a filter for each width.
func (r *resizer) setWidths(cfg ResizeConfig) error {
	if len(cfg.Widths) == 0 || len(cfg.Widths) > maxWidths {
		return fmt.Errorf("images: resize: widths has %d widths: write 1 to %d, such as [320, 640, 1280]", len(cfg.Widths), maxWidths)
	}
	if cfg.Quality < 0 || cfg.Quality > 100 {
		return fmt.Errorf("images: resize: quality is %d: choose 1 to 100", cfg.Quality)
	}
	places := newWorkplaces(r.limits, cfg.OnOverLimit)
	widths := slices.Sorted(slices.Values(cfg.Widths))
	names := make([]string, 0, len(widths))
	for _, width := range widths {
		if width < 1 || width > maxWidth {
			return fmt.Errorf("images: resize: widths has %d: choose 1 to %d", width, maxWidth)
		}
		name := strconv.Itoa(width)
		r.byWidth[name] = &filter{limits: r.limits, quality: cmp.Or(cfg.Quality, 82), change: toWidth(width), workplaces: places}
		names = append(names, name)
	}
	r.refusal = fmt.Sprintf("400 Bad Request: the parameter %s is not one of the widths %s\n", r.param, strings.Join(names, ", "))
	return nil
}

// toWidth returns a function that scales pictures down to a width, as shown.
func toWidth(width int) changeFunc {
	return func(p image.Image, turned bool) image.Image {
		size := fitSize(p.Bounds(), width, math.MaxInt)
		if turned {
			size = fitSize(p.Bounds(), math.MaxInt, width)
		}
		if size == p.Bounds().Size() {
			return nil
		}
		return shrink(p, size)
	}
}

// resizer is the filter that [Resize] makes.
type resizer struct {
	limits
	param    string
	refusal  string             // the body for a width that is not allowed
	byWidth  map[string]*filter // by the text of the parameter; the filters share their places
	results  *memory.Store[resultKey, []byte]
	contents *memory.Store[sourceKey, contentHash] // of pictures that were read before
}

// contentHash is the SHA-256 of a picture.
type contentHash [sha256.Size]byte

// resultKey identifies a result by content, so that a query such as ?w=640&x=1 has no result of its
// own. The value is nil if the picture stays as it is.
type resultKey struct {
	content     contentHash
	width, kind string
}

// sourceKey identifies a picture without reading it. A strong entity tag identifies the content of
// one resource (RFC 9110, section 8.8.3), so the resource is part of the key.
type sourceKey struct {
	secure            bool
	host, target, tag string
}

// entrySize is about how much memory an entry of a store uses beside its value, in bytes.
const entrySize = 256

// handle decides, in the setup phase, whether the picture of an exchange has another width.
func (r *resizer) handle(c *web.Conn) web.Transform {
	if c.RawQuery() == "" || c.Method() != http.MethodGet && c.Method() != http.MethodHead {
		return nil
	}
	kind := pictureType(c)
	if kind == "" || c.Body().Size() > int64(r.maxBytes) {
		return nil
	}
	width, requested := r.requestedWidth(c.RawQuery())
	if !requested {
		return nil
	}
	f := r.byWidth[width]
	if f == nil {
		c.Reply(http.StatusBadRequest)
		c.Answer(web.String(r.refusal))
		return nil
	}
	source := sourceKey{c.Secure(), c.Host(), c.RequestURI(), c.Header("Etag")}
	r.setTag(c, f, width)
	if r.answerFromCache(c, source, width, kind) {
		return nil
	}
	ctx := c.Context()
	return f.transform(c, func(picture []byte) ([]byte, error) {
		return r.process(ctx, f, source, resultKey{sha256.Sum256(picture), width, kind}, picture)
	})
}

// requestedWidth returns the parameter of a query, and whether the query has it. A query that has
// it twice, or is malformed, requests no valid width.
func (r *resizer) requestedWidth(query string) (width string, requested bool) {
	values, err := url.ParseQuery(query)
	widths, requested := values[r.param]
	if err != nil || len(widths) != 1 {
		return "", requested
	}
	return widths[0], requested
}

// setTag replaces the entity tag of the original by one of the result, which depends on what made
// it.
func (r *resizer) setTag(c *web.Conn, f *filter, width string) {
	if t := c.Header("Etag"); t != "" {
		c.SetHeader("Etag", tag.Of([]byte(strings.Join([]string{t, width, strconv.Itoa(f.quality), runtime.Version()}, "\x00"))))
	}
}

// answerFromCache answers with a result that was made before, without reading the original. It
// reports whether the exchange is done.
func (r *resizer) answerFromCache(c *web.Conn, source sourceKey, width, kind string) bool {
	content, ok := r.contents.Get(source)
	if !ok || !tag.Strong(source.tag) {
		return false
	}
	data, ok := r.results.Get(resultKey{content, width, kind})
	if ok && data != nil {
		c.Answer(web.Bytes(data))
	}
	return ok
}

// process returns the picture to send, and remembers it.
func (r *resizer) process(ctx context.Context, f *filter, source sourceKey, key resultKey, picture []byte) ([]byte, error) {
	if tag.Strong(source.tag) {
		r.contents.Put(source, key.content, int64(entrySize+len(source.host)+len(source.target)+len(source.tag)))
	}
	if data, ok := r.results.Get(key); ok {
		return orElse(data, picture), nil
	}
	if !f.takeSlot(ctx) {
		return nil, errGone
	}
	defer f.freeSlot()
	data, ok := r.results.Get(key) // another request may have made it while this one waited
	if !ok {
		data = f.changePicture(picture, key.kind)
		r.results.Put(key, data, int64(entrySize+len(data)))
	}
	return orElse(data, picture), nil
}

// orElse returns data, or other if data is nil.
func orElse(data, other []byte) []byte {
	if data == nil {
		return other
	}
	return data
}
