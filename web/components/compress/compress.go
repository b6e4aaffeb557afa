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

// Config says what is compressed, and how. Its zero value is a good one.
type Config struct {
	// Codings are those offered, of "zstd", "br", "gzip" and "deflate": of several that the client
	// likes best, the first is taken. Empty: all four, in this order.
	Codings []string `hcl:"codings,optional"`

	// Types are the media types to compress: "text/html", "text/*", "*+json", "*/*". Empty: text,
	// and what is known to be as good as text.
	Types []string `hcl:"types,optional"`

	// MinSize is the size from which on a body is compressed, such as "1KB". Empty: 512 bytes.
	MinSize string `hcl:"min_size,optional"`

	// Effort is "fast", "normal" or "best": more of it makes bodies smaller and costs more. Empty:
	// "normal".
	Effort string `hcl:"effort,optional"`

	// Cache is how much memory compressed bodies take at most, with what they were made of, such as
	// "64MB". Empty: "32MB". "0": none is kept.
	Cache string `hcl:"cache,optional"`
}

// compressor is the component.
type compressor struct {
	names   []string
	codecs  []*codec // of names
	types   []string
	minSize int64
	memo    *memo // nil: there is none
}

// New makes the component.
func New(cfg Config) (web.Component, error) {
	z := &compressor{names: cfg.Codings, types: cfg.Types}
	if len(z.names) == 0 {
		z.names = []string{"zstd", "br", "gzip", "deflate"}
	}
	if len(z.types) == 0 {
		z.types = compressible
	}
	for _, t := range z.types {
		if !isPattern(t) {
			return nil, fmt.Errorf("compress: types has %q, which is no media type: write one such as \"text/html\", \"text/*\" or \"*+json\"", t)
		}
	}
	effort := slices.Index([]string{"fast", "normal", "best"}, cfg.Effort)
	if cfg.Effort == "" {
		effort = 1
	}
	if effort < 0 {
		return nil, fmt.Errorf("compress: effort is %q: write \"fast\", \"normal\" or \"best\"", cfg.Effort)
	}
	for i, name := range z.names {
		c := newCodec(name, effort)
		if c == nil || slices.Contains(z.names[:i], name) {
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
	if !c.Answered() || excluded(c) {
		return
	}
	name(c)
	worth := z.worth(c)
	if worth {
		c.Vary("Accept-Encoding")
	}
	if !c.ProtoAtLeast(1, 1) {
		return
	}
	i, identity := coding.Choose(c.RequestHeaders("Accept-Encoding"), z.names)
	if i < 0 || !worth && identity {
		return
	}
	c.Vary("Accept-Encoding")
	z.compress(c, z.codecs[i], !identity)
}

// compress has the body compressed; must says that the client does not want it as it is.
func (z *compressor) compress(c *web.Conn, codec *codec, must bool) {
	data, whole := c.Body().Bytes()
	whole = whole && !c.HasTransform()
	if whole && z.memo.takes(c, data) {
		if m := z.memo.get(c.Header("Etag"), data, codec); m.worth || must {
			c.Answer(web.Bytes(m.body))
			c.SetField(m.tag)
			c.SetField(codec.field)
		}
		return
	}
	c.SetField(codec.field)
	c.Transform(func(next io.Writer) io.WriteCloser { return codec.writer(next, whole) })
}

// excluded says whether the response is one that must not be compressed, or that has no body to
// compress.
func excluded(c *web.Conn) bool {
	switch status := c.Status(); {
	case status == http.StatusPartialContent, status == http.StatusNoContent, status == http.StatusNotModified, c.Body().IsHijack():
		return true
	}
	return c.Header("Content-Encoding") != "" || c.Header("Content-Range") != "" || c.Body().Size() == 0 ||
		coding.HasToken(c.Headers("Cache-Control"), "no-transform")
}

// worth says whether the body is of a type and a size to compress.
func (z *compressor) worth(c *web.Conn) bool {
	if size := c.Body().Size(); size >= 0 && size < z.minSize {
		return false
	}
	return matches(z.types, c.Header("Content-Type"))
}

// name gives bytes that have no type the one that the core would find: it does not look at what is
// coded.
func name(c *web.Conn) {
	if c.Header("Content-Type") != "" || c.HasTransform() {
		return
	}
	if data, ok := c.Body().Bytes(); ok {
		c.SetHeader("Content-Type", http.DetectContentType(data))
	}
}
