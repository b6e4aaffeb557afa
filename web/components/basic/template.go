package basic

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"weir/web"
	"weir/web/components/internal/unit"
)

// TemplateConfig sets which templates [Template] executes.
type TemplateConfig struct {
	// Files are Go templates. The first is executed; it calls the others by the last elements of
	// their paths. If the first ends in .html, .htm or .gohtml, html/template parses them, which
	// escapes input for its context. Otherwise text/template does.
	Files []string          `hcl:"files"`
	Vars  map[string]string `hcl:"vars,optional"` // Vars are what templates see as .Vars.
	// Type is the Content-Type. Empty: text/html or text/plain, in UTF-8.
	Type string `hcl:"type,optional"`
	// Max is the size of the largest page, in bytes or such as "10MB"; a larger one is answered by
	// 500. Empty: "1MB".
	Max string `hcl:"max,optional"`
	// Check is how long files are used before a request looks for changes. Empty: "1s".
	Check string `hcl:"check,optional"`

	// OnFailure receives the error when changed files cannot be read or parsed; the former
	// templates stay in use. The goroutine of a request calls it. Nil: not reported.
	OnFailure func(error)
}

// Request is a template's view of a request: {{.Path}}, {{.Query "q"}}, {{.Header
// "Accept-Language"}}, {{.Vars.title}}.
type Request struct {
	Method, Path, Host, Proto, RemoteAddr string
	Secure                                bool // the request came over TLS
	// the values of [web.User] and [web.RequestID] that earlier components set
	User, ID string
	Vars     map[string]string // from the Config
	Now      time.Time

	query, header func(string) string
}

// Query returns the first value of a query parameter, or "".
func (r Request) Query(name string) string { return r.query(name) }

// Header returns the first value of a request field, or "".
func (r Request) Header(name string) string { return r.header(name) }

// Template is a source of pages that Go templates make from a [Request]. A page is complete before
// its header is sent: when a template fails, the answer is 500 and never half a page.
//
// Templates that cannot be parsed are rejected with file and line. Files that change are parsed
// again while requests come. The execution time of a template is not limited.
func Template(cfg TemplateConfig) (web.Component, error) {
	if len(cfg.Files) == 0 {
		return nil, errors.New("template: files is empty: write the path of a template")
	}
	maxSize, err := unit.Size("template: max", cfg.Max, 1<<20)
	if err != nil {
		return nil, err
	}
	check, err := unit.Duration("template: check", cfg.Check, time.Second)
	if err != nil {
		return nil, err
	}
	t, err := newTemplates(cfg.Files, check, cfg.OnFailure)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	kind := web.NewField("Content-Type", cmp.Or(cfg.Type, t.mediaType()))
	vars := maps.Clone(cfg.Vars)
	return named("template", web.Source(func(c *web.Conn) web.Body {
		out := bufferPool.Get().(*limitedBuffer)
		defer out.release()
		out.maxSize = maxSize
		if err := t.current(c).Execute(out, newRequest(c, vars)); err != nil {
			return c.Fail(http.StatusInternalServerError, fmt.Errorf("template: %w", err))
		}
		c.SetField(kind)
		return web.Bytes(bytes.Clone(out.Bytes()))
	})), nil
}

func newRequest(c *web.Conn, vars map[string]string) Request {
	return Request{
		Method: c.Method(), Path: c.Path(), Host: c.Host(), Proto: c.Proto(), RemoteAddr: c.RemoteAddr(), Secure: c.Secure(),
		User: c.StringValue(web.User), ID: c.StringValue(web.RequestID), Vars: vars, Now: time.Now(), query: c.Query, header: c.RequestHeader,
	}
}

// limitedBuffer is a buffer that fails when it would exceed its limit.
type limitedBuffer struct {
	bytes.Buffer
	maxSize int64
}

var (
	bufferPool = sync.Pool{New: func() any { return new(limitedBuffer) }}
	errTooLong = errors.New("the page is longer than max")
)

// Write implements [io.Writer].
func (l *limitedBuffer) Write(p []byte) (int, error) {
	if int64(l.Len()+len(p)) > l.maxSize {
		return 0, errTooLong
	}
	return l.Buffer.Write(p)
}

// release returns the buffer to the pool, unless it has grown beyond what most pages need.
func (l *limitedBuffer) release() {
	if l.Cap() <= 64<<10 {
		l.Reset()
		bufferPool.Put(l)
	}
}
