package compress

import (
	"fmt"
	"io"
	"net/http"
	"slices"

	"weir/web"
	"weir/web/components/internal/coding"
	"weir/web/components/internal/unit"
)

// Config says what is compressed, and how. The zero value is a good default.
type Config struct {
	// Codings are the offered codings, of "zstd", "br", "gzip" and "deflate". Among those with the
	// client's greatest weight, the first is used. Empty: all four, in this order.
	Codings []string `hcl:"codings,optional"`

	// Types are the media types to compress: "text/html", "text/*", "*+json", "*/*". Empty: text,
	// and types that compress as well as text.
	Types []string `hcl:"types,optional"`

	// MinSize is the minimum size of a body to compress, such as "1KB". Empty: "512B".
	MinSize string `hcl:"min_size,optional"`

	// Effort is "fast", "normal" or "best": better makes bodies smaller and costs more CPU. Empty:
	// "normal".
	Effort string `hcl:"effort,optional"`

	// Cache is the memory limit for compressed bodies with their originals, such as "64MB". Empty:
	// "32MB". "0": no cache.
	Cache string `hcl:"cache,optional"`
}

// compressor is the component.
type compressor struct {
	codingNames []string
	codecs      []*codec // of names
	types       []string
	minSize     int64
	memo        *memo // nil: no cache
}

// New returns the component.
func New(cfg Config) (web.Component, error) {
	z := &compressor{codingNames: cfg.Codings, types: cfg.Types}
	if len(z.codingNames) == 0 {
		z.codingNames = []string{"zstd", "br", "gzip", "deflate"}
	}
	if len(z.types) == 0 {
		z.types = compressible
	}
	for _, t := range z.types {
		if !isPattern(t) {
			return nil, fmt.Errorf("compress: types has %q, which is not a media type: write one such as \"text/html\", \"text/*\" or \"*+json\"", t)
		}
	}
	effort := slices.Index([]string{"fast", "normal", "best"}, cfg.Effort)
	if cfg.Effort == "" {
		effort = 1
	}
	if effort < 0 {
		return nil, fmt.Errorf("compress: effort is %q: write \"fast\", \"normal\" or \"best\"", cfg.Effort)
	}
	for i, name := range z.codingNames {
		c := newCodec(name, effort)
		if c == nil || slices.Contains(z.codingNames[:i], name) {
			return nil, fmt.Errorf("compress: codings has %q: write \"zstd\", \"br\", \"gzip\" and \"deflate\", each once at most", name)
		}
		z.codecs = append(z.codecs, c)
	}
	var err error
	var kept int64
	if z.minSize, err = unit.Size("min_size", cfg.MinSize, 512); err == nil {
		kept, err = unit.Size("cache", cfg.Cache, 32<<20)
	}
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if kept > 0 {
		z.memo = newMemo(kept)
	}
	return z, nil
}

// Traits implements the optional part of [web.Component].
func (z *compressor) Traits() web.Traits {
	return web.Traits{Name: "compress", Role: web.RoleFilter, OncePerPath: "content coding"}
}

// Handle implements [web.Component].
func (z *compressor) Handle(c *web.Conn) {
	if !c.Answered() || isExcluded(c) {
		return
	}
	detectType(c)
	worth := z.isWorthwhile(c)
	if worth {
		c.Vary("Accept-Encoding")
	}
	if !c.ProtoAtLeast(1, 1) {
		return
	}
	i, identity := coding.Choose(c.RequestHeaders("Accept-Encoding"), z.codingNames)
	if i < 0 || !worth && identity {
		return
	}
	c.Vary("Accept-Encoding")
	z.compress(c, z.codecs[i], !identity)
}

// compress sets up compression of the body; must says that the client does not accept it
// uncompressed.
func (z *compressor) compress(c *web.Conn, codec *codec, must bool) {
	data, whole := c.Body().Bytes()
	whole = whole && !c.HasTransform()
	if whole && z.memo.accepts(c, data) {
		if m := z.memo.get(c.Header("Etag"), data, codec); m.smaller || must {
			c.Answer(web.Bytes(m.body))
			c.SetField(m.tag)
			c.SetField(codec.field)
		}
		return
	}
	c.SetField(codec.field)
	c.Transform(func(next io.Writer) io.WriteCloser { return codec.writer(next, whole) })
}

// isExcluded reports whether the response must not be compressed, or has no body to compress.
func isExcluded(c *web.Conn) bool {
	switch status := c.Status(); {
	case status == http.StatusPartialContent, status == http.StatusNoContent, status == http.StatusNotModified, c.Body().IsHijack():
		return true
	}
	return c.Header("Content-Encoding") != "" || c.Header("Content-Range") != "" || c.Body().Size() == 0 ||
		coding.HasToken(c.Headers("Cache-Control"), "no-transform")
}

// isWorthwhile reports whether the body has a type and a size to compress.
func (z *compressor) isWorthwhile(c *web.Conn) bool {
	if size := c.Body().Size(); size >= 0 && size < z.minSize {
		return false
	}
	return matchesAny(z.types, c.Header("Content-Type"))
}

// detectType sets the type of a body of bytes that has none. The core does not detect the type of
// coded bodies.
func detectType(c *web.Conn) {
	if c.Header("Content-Type") != "" || c.HasTransform() {
		return
	}
	if data, ok := c.Body().Bytes(); ok {
		c.SetHeader("Content-Type", http.DetectContentType(data))
	}
}
