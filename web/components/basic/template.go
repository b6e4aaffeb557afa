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

// TemplateConfig says what [Template] executes.
type TemplateConfig struct {
	// Files are templates of Go; the first is executed, and the others are there for it to call, by
	// the last parts of their names. They are those of html/template, which quotes what a client
	// has written, when the first ends in .html, .htm or .gohtml, and those of text/template
	// otherwise.
	Files []string          `hcl:"files"`
	Vars  map[string]string `hcl:"vars,optional"` // what the templates see as .Vars
	// Content-Type; empty: text/html or text/plain, in UTF-8
	Type string `hcl:"type,optional"`
	// the largest page, in bytes or such as "10MB"; empty: 1 MB. A larger one is answered by 500
	Max string `hcl:"max,optional"`
	// the files are looked at again after so long, when a request comes; empty: "1s"
	Check string `hcl:"check,optional"`

	// Failed is told of files that can no longer be read or parsed, by the goroutine that found
	// out; the templates stay as they were. Nil: nobody is.
	Failed func(error)
}

// Request is what a template sees of a request: {{.Path}}, {{.Query "q"}}, {{.Header
// "Accept-Language"}}, {{.Vars.title}}.
type Request struct {
	Method, Path, Host, Proto, RemoteAddr string
	Secure                                bool // whether it came over TLS
	// what components before have left under [web.User] and [web.RequestID]
	User, ID string
	Vars     map[string]string // of the Config
	Now      time.Time

	query, header func(string) string
}

// Query is the first value of a parameter of the query.
func (r Request) Query(name string) string { return r.query(name) }

// Header is the first value of a field.
func (r Request) Header(name string) string { return r.header(name) }

// Template is a source of pages that Go templates make of a [Request]. A page is whole before its
// head is sent: a template that fails is answered by 500, and never by half a page. Templates that
// can't be parsed are refused with file and line. Files that change are read again while requests
// come. A template that does not end is not ended by anybody: it belongs to who runs the server,
// not to a client.
func Template(cfg TemplateConfig) (web.Component, error) {
	if len(cfg.Files) == 0 {
		return nil, errors.New("template: files is empty: name the file of a template")
	}
	most, err := unit.Size("template: max", cfg.Max, 1<<20)
	if err != nil {
		return nil, err
	}
	check, err := unit.Duration("template: check", cfg.Check, time.Second)
	if err != nil {
		return nil, err
	}
	t, err := newTemplates(cfg.Files, check, cfg.Failed)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	kind := web.NewField("Content-Type", cmp.Or(cfg.Type, t.mediaType()))
	vars := maps.Clone(cfg.Vars)
	return named("template", web.Source(func(c *web.Conn) web.Body {
		out := outputs.Get().(*limited)
		defer out.free()
		out.most = most
		if err := t.current().Execute(out, seenBy(c, vars)); err != nil {
			return c.Fail(http.StatusInternalServerError, fmt.Errorf("template: %w", err))
		}
		c.SetField(kind)
		return web.Bytes(bytes.Clone(out.Bytes()))
	})), nil
}

func seenBy(c *web.Conn, vars map[string]string) Request {
	return Request{
		Method: c.Method(), Path: c.Path(), Host: c.Host(), Proto: c.Proto(), RemoteAddr: c.RemoteAddr(), Secure: c.Secure(),
		User: c.StringValue(web.User), ID: c.StringValue(web.RequestID), Vars: vars, Now: time.Now(), query: c.Query, header: c.RequestHeader,
	}
}

// limited is a buffer that takes so much and no more.
type limited struct {
	bytes.Buffer
	most int64
}

var (
	outputs    = sync.Pool{New: func() any { return new(limited) }}
	errTooLong = errors.New("the page is longer than max")
)

// Write implements [io.Writer].
func (l *limited) Write(p []byte) (int, error) {
	if int64(l.Len()+len(p)) > l.most {
		return 0, errTooLong
	}
	return l.Buffer.Write(p)
}

// free gives the buffer back, unless it is one that few pages need.
func (l *limited) free() {
	if l.Cap() <= 64<<10 {
		l.Reset()
		outputs.Put(l)
	}
}
