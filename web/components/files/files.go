package files

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weir/web"
	"weir/web/components/internal/memory"
	"weir/web/components/internal/unit"
)

// Config says what is served, and how. Its zero value but for Dir is a good one.
type Config struct {
	// Dir is the directory.
	Dir string `hcl:"dir"`

	// Strip is taken off the front of the path, such as "/static"; what does not begin with it is
	// not found.
	Strip string `hcl:"strip,optional"`

	// Index is the name of the file that answers for its directory. Empty: "index.html".
	Index string `hcl:"index,optional"`

	// List answers for a directory without an index file by a list of what is in it.
	List bool `hcl:"list,optional"`

	// Dotfiles serves names that begin with a dot.
	Dotfiles bool `hcl:"dotfiles,optional"`

	// NotFound is the path below Dir of a file that is the body of 404. Empty: a line of text.
	NotFound string `hcl:"not_found,optional"`

	// Precompressed are the codings whose siblings are looked for, of "br", "zstd" and "gzip", the
	// most wanted first. Nil: all three in this order. Empty: none.
	Precompressed []string `hcl:"precompressed,optional"`

	// Cache is how much memory the files in it take at most, such as "64MB". Empty: "64MB". "0":
	// there is no cache.
	Cache string `hcl:"cache,optional"`

	// CacheFile is the size of the largest file that is kept in memory. Empty: "256KB".
	CacheFile string `hcl:"cache_file,optional"`
}

// How old may be what is known of a file, and of the directory itself: together less than the
// second that is promised.
const (
	recheck     = 700 * time.Millisecond
	recheckRoot = 200 * time.Millisecond
)

// files is the component.
type files struct {
	Config
	codings []sibling
	root    *root
	store   *memory.Store[string, *entry] // nil: there is none
	largest int64                         // file that is read whole, in bytes
	epoch   time.Time
	odd     atomic.Int64 // tags made that no other response has
}

// New makes the component, which is also an [io.Closer].
func New(cfg Config) (web.Component, error) {
	f := &files{Config: cfg, epoch: time.Now()}
	if f.Index == "" {
		f.Index = "index.html"
	}
	if strings.Contains(f.Index, "/") {
		return nil, fmt.Errorf("files: index is %q, which is a path: write the name of a file, such as \"index.html\"", f.Index)
	}
	if err := f.setNames(); err != nil {
		return nil, err
	}
	if err := f.setCodings(); err != nil {
		return nil, err
	}
	if err := f.setCache(); err != nil {
		return nil, err
	}
	var err error
	if f.root, err = openRoot(cfg.Dir); err != nil {
		return nil, fmt.Errorf("files: dir is %q, which can't be served: %w", cfg.Dir, err)
	}
	return f, nil
}

func (f *files) setNames() error {
	if f.Strip = strings.TrimSuffix(f.Strip, "/"); f.Strip != "" && f.Strip[0] != '/' {
		return fmt.Errorf("files: strip is %q, which begins no path: write it with a slash, such as \"/static\"", f.Strip)
	}
	if f.NotFound == "" {
		return nil
	}
	f.NotFound = "/" + strings.TrimPrefix(f.NotFound, "/")
	if strings.HasSuffix(f.NotFound, "/") || !local(f.NotFound) {
		return fmt.Errorf("files: not_found is %q, which is no file below dir: write a path such as \"/404.html\"", f.NotFound)
	}
	return nil
}

func (f *files) setCodings() error {
	if f.Precompressed == nil {
		f.codings = siblings
		return nil
	}
	for _, name := range f.Precompressed {
		i := slices.IndexFunc(siblings, func(s sibling) bool { return s.coding == name })
		if i < 0 {
			return fmt.Errorf("files: precompressed has %q, which is not looked for: write \"br\", \"zstd\" or \"gzip\"", name)
		}
		f.codings = append(f.codings, siblings[i])
	}
	return nil
}

func (f *files) setCache() error {
	size, err := unit.Size("cache", f.Cache, 64<<20)
	if err == nil {
		f.largest, err = unit.Size("cache_file", f.CacheFile, 256<<10)
	}
	if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	if size > 0 {
		f.store = memory.New[string, *entry](size)
	}
	return nil
}

// Close lets go of the directory. No exchange may be with the component any more.
func (f *files) Close() error { return f.root.Close() }

// Traits implements the optional part of [web.Component].
func (f *files) Traits() web.Traits { return web.Traits{Name: "files", Role: web.RoleSource} }

// Handle implements [web.Component].
func (f *files) Handle(c *web.Conn) {
	if !c.Answered() {
		c.Answer(f.answer(c))
	}
}

var allow = web.NewField("Allow", "GET, HEAD")

// answer is the body for an exchange.
func (f *files) answer(c *web.Conn) web.Body {
	if m := c.Method(); m != http.MethodGet && m != http.MethodHead {
		c.SetField(allow)
		return c.StatusBody(http.StatusMethodNotAllowed)
	}
	path := c.Path()
	if f.Strip != "" {
		var ok bool
		if path, ok = strings.CutPrefix(path, f.Strip); !ok {
			return f.missing(c)
		}
	}
	if path == "" {
		if f.Strip != "" {
			return f.slash(c, "/")
		}
		path = "/"
	}
	if e := f.kept(path); e != nil {
		return f.body(c, e)
	}
	return f.look(c, path)
}

// look answers from the directory itself.
func (f *files) look(c *web.Conn, path string) web.Body {
	clean, ok := f.clean(path)
	if !ok {
		return f.missing(c)
	}
	if strings.HasSuffix(clean, "/") {
		return f.directory(c, clean)
	}
	e, err := f.load(clean, clean)
	switch {
	case err == nil:
		return f.body(c, e)
	case !errors.Is(err, errDirectory):
		return f.failed(c, err)
	}
	return f.slash(c, clean+"/")
}

// failed answers for a file that can't be served.
func (f *files) failed(c *web.Conn, err error) web.Body {
	switch {
	case errors.Is(err, errRestless):
		c.SetHeader("Retry-After", "1")
		return c.Fail(http.StatusServiceUnavailable, err)
	case errors.Is(err, fs.ErrPermission):
		return c.Fail(http.StatusForbidden, err)
	case transient(err):
		return c.Fail(http.StatusServiceUnavailable, err)
	}
	return f.missing(c)
}

// missing answers for what is not there.
func (f *files) missing(c *web.Conn) web.Body {
	if f.NotFound == "" {
		return c.StatusBody(http.StatusNotFound)
	}
	e, err := f.page(f.NotFound)
	if err != nil {
		return c.Fail(http.StatusNotFound, fmt.Errorf("files: not_found: %w", err))
	}
	b := f.body(c, e)
	c.SetStatus(http.StatusNotFound)
	c.DelHeader("Etag")
	c.DelHeader("Last-Modified")
	return b
}

// kept is the entry of a path if it is in memory, and still what is on disk.
func (f *files) kept(path string) *entry {
	if f.store != nil {
		if e, ok := f.store.Get(path); ok && f.fresh(e) {
			return e
		}
	}
	return nil
}

// page is the entry of a file.
func (f *files) page(path string) (*entry, error) {
	if e := f.kept(path); e != nil {
		return e, nil
	}
	return f.load(path, path)
}
