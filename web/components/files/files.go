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
	"weir/web/components/internal/candidate"
	"weir/web/components/internal/memory"
	"weir/web/components/internal/unit"
)

// Config sets which files are served, and how. All fields but Dir may be zero.
type Config struct {
	// Dir is the directory whose files are served.
	Dir string `hcl:"dir"`

	// Strip is a prefix that is removed from the path, such as "/static". Paths without it are not
	// found.
	Strip string `hcl:"strip,optional"`

	// Index is the name of the file that is served for its directory. Empty: "index.html".
	Index string `hcl:"index,optional"`

	// List answers for a directory without an index file with a listing.
	List bool `hcl:"list,optional"`

	// Dotfiles also serves names that begin with a dot.
	Dotfiles bool `hcl:"dotfiles,optional"`

	// NotFound is the path below Dir of a file that is the body of 404. Empty: a line of text.
	NotFound string `hcl:"not_found,optional"`

	// Fallback is what answers for a path that names no file: the first of these, at most 16, that
	// names one. A path below Dir, such as "/index.html", is a page: it is sent with status 200.
	// {path} in it stands for the path of the request, as in "{path}.html"; routes and conditions
	// must decide alike on that page's path. "next" as the last passes the request on to the
	// component behind, with its path. A name that begins with a dot is not found either way. Nil:
	// the answer is 404.
	Fallback []string `hcl:"fallback,optional"`

	// Hide are patterns of names of files and directories that are not found, such as "*.bak". The
	// case of letters does not count. With Fallback "next", names of programs, such as "*.php*" and
	// "*.py", are hidden as well. An empty list hides none. Nil: only names of programs, with
	// Fallback "next".
	Hide []string `hcl:"hide,optional"`

	// Precompressed are the content codings whose siblings are served, of "br", "zstd" and "gzip",
	// in order of preference. Nil: all three in this order. Empty: none.
	Precompressed []string `hcl:"precompressed,optional"`

	// Cache is the most memory that cached files use, such as "64MB". Empty: "64MB". "0": no cache.
	Cache string `hcl:"cache,optional"`

	// CacheFile is the size of the largest file that is cached. Empty: "256KB".
	CacheFile string `hcl:"cache_file,optional"`
}

// How old may be what is known of a file, and of the directory itself: together less than the
// second that is promised.
const (
	// A file, and the directory itself, are checked for changes when a request comes this long
	// after the last check. Together these are less than the second that the package comment
	// states.
	recheckInterval     = 700 * time.Millisecond
	rootRecheckInterval = 200 * time.Millisecond
)

// files is the component.
type files struct {
	Config
	hidden        []string // the patterns of Hide, in lower case
	candidates    []candidate.Candidate
	passesOn      bool // Fallback ends in "next"
	indexHidden   bool // they match Index: directories have no index file
	codings       []sibling
	root          *root
	store         *memory.Store[string, *entry] // nil: no cache
	maxCachedFile int64                         // size of the largest file that is read as a whole
	epoch         time.Time
	uniqueTags    atomic.Int64 // number of tags that were made for one response
}

// New returns the component, which is also an [io.Closer].
func New(cfg Config) (web.Component, error) {
	f := &files{Config: cfg, epoch: time.Now()}
	if f.Index == "" {
		f.Index = "index.html"
	}
	if strings.Contains(f.Index, "/") {
		return nil, fmt.Errorf("files: index is %q, which is a path: write a file name, such as \"index.html\"", f.Index)
	}
	if err := f.setNames(); err != nil {
		return nil, err
	}
	if err := f.setFallback(cfg.Index != ""); err != nil {
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
		return nil, fmt.Errorf("files: dir is %q, which cannot be opened: %w", cfg.Dir, err)
	}
	return f, nil
}

func (f *files) setNames() error {
	if f.Strip = strings.TrimSuffix(f.Strip, "/"); f.Strip != "" && f.Strip[0] != '/' {
		return fmt.Errorf("files: strip is %q, which does not begin with a slash: write a path such as \"/static\"", f.Strip)
	}
	if f.NotFound == "" {
		return nil
	}
	f.NotFound = "/" + strings.TrimPrefix(f.NotFound, "/")
	if strings.HasSuffix(f.NotFound, "/") || !isLocal(f.NotFound) {
		return fmt.Errorf("files: not_found is %q, which does not name a file below dir: write a path such as \"/404.html\"", f.NotFound)
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
			return fmt.Errorf("files: precompressed has %q, which is not supported: write \"br\", \"zstd\" or \"gzip\"", name)
		}
		f.codings = append(f.codings, siblings[i])
	}
	return nil
}

func (f *files) setCache() error {
	size, err := unit.Size("cache", f.Cache, 64<<20)
	if err == nil {
		f.maxCachedFile, err = unit.Size("cache_file", f.CacheFile, 256<<10)
	}
	if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	if size > 0 {
		f.store = memory.New[string, *entry](size)
	}
	return nil
}

// Close closes the directory. No exchange may be in the component any more.
func (f *files) Close() error { return f.root.Close() }

// Traits implements the optional part of [web.Component].
func (f *files) Traits() web.Traits {
	return web.Traits{Name: "files", Role: web.RoleSource, PassesOn: f.passesOn, OtherPaths: slices.ContainsFunc(f.candidates, func(c candidate.Candidate) bool { return c.HasPath })}
}

// Handle implements [web.Component].
func (f *files) Handle(c *web.Conn) {
	if c.Answered() {
		return
	}
	body, err := f.answer(c)
	if err != nil && isMissing(err) && len(f.candidates) > 0 {
		body, err = f.tryCandidates(c, err)
	}
	switch {
	case err == nil:
		c.Answer(body)
	case isMissing(err) && f.passesOn:
	default:
		c.Answer(f.failed(c, err))
	}
}

var allowField = web.NewField("Allow", "GET, HEAD")

// answer returns the body for an exchange, or why it has none.
func (f *files) answer(c *web.Conn) (web.Body, error) {
	path, ok := strings.CutPrefix(c.Path(), f.Strip)
	ok = ok && (path == "" || path[0] == '/')
	if m := c.Method(); m != http.MethodGet && m != http.MethodHead {
		return f.otherMethod(c, path, ok)
	}
	switch {
	case !ok:
		return web.Body{}, fs.ErrNotExist
	case path == "":
		return f.redirectToSlash(c, "/")
	}
	if e := f.cached(c, path); e != nil {
		return f.body(c, e)
	}
	c.LeaveLoop()
	return f.lookUp(c, path)
}

// lookUp answers from the file system, off the event loop.
func (f *files) lookUp(c *web.Conn, path string) (web.Body, error) {
	clean, err := f.cleanPath(path)
	if err != nil {
		return web.Body{}, err
	}
	if strings.HasSuffix(clean, "/") {
		return f.directory(c, clean)
	}
	e, err := f.read(clean, clean)
	switch {
	case err == nil:
		return f.body(c, e)
	case !errors.Is(err, errDirectory):
		return web.Body{}, err
	case len(f.Fallback) > 0:
		if err := f.statDirectory(clean + "/"); err != nil {
			return web.Body{}, err
		}
	}
	return f.redirectToSlash(c, clean+"/")
}

// failed answers for a file that cannot be served.
func (f *files) failed(c *web.Conn, err error) web.Body {
	switch {
	case errors.Is(err, errUnstable):
		c.SetHeader("Retry-After", "1")
		return c.Fail(http.StatusServiceUnavailable, err)
	case errors.Is(err, fs.ErrPermission):
		return c.Fail(http.StatusForbidden, err)
	case isTransient(err):
		return c.Fail(http.StatusServiceUnavailable, err)
	}
	return f.notFound(c)
}

// notFound answers 404, with the page of NotFound if there is one.
func (f *files) notFound(c *web.Conn) web.Body {
	if f.NotFound == "" {
		return c.StatusBody(http.StatusNotFound)
	}
	b, err := f.page(c, f.NotFound)
	if err != nil {
		return c.Fail(http.StatusNotFound, fmt.Errorf("files: not_found: %w", err))
	}
	c.SetStatus(http.StatusNotFound)
	c.DelHeader("Etag")
	c.DelHeader("Last-Modified")
	return b
}

// page answers with a file of the configuration.
func (f *files) page(c *web.Conn, path string) (web.Body, error) {
	e, err := f.load(c, path)
	if err != nil {
		return web.Body{}, err
	}
	return f.body(c, e)
}

// cached returns the entry of a path if it is in memory and still valid, or nil.
func (f *files) cached(c *web.Conn, path string) *entry {
	if f.store != nil {
		if e, ok := f.store.Get(path); ok && f.isCurrent(c, e) {
			return e
		}
	}
	return nil
}

// load returns the entry of a file, from memory or from disk.
func (f *files) load(c *web.Conn, path string) (*entry, error) {
	if e := f.cached(c, path); e != nil {
		return e, nil
	}
	c.LeaveLoop()
	return f.read(path, path)
}
