package cgi

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/web"
	"weir/web/components/cgi/fcgi"
	"weir/web/components/internal/candidate"
	"weir/web/components/internal/slash"
	"weir/web/components/internal/unit"
)

// FastCGIConfig sets which application answers. All fields but Address may be zero.
type FastCGIConfig struct {
	// Address is where the application listens: "HOST:PORT" or "unix:/PATH".
	Address string `hcl:"address"`

	// Dir is the directory of the application's scripts, under the same path here and there. It
	// becomes DOCUMENT_ROOT. Required with Split.
	Dir string `hcl:"dir,optional"`

	// Split is the extension of scripts, such as ".php". For the path /page.php/info, the script is
	// page.php, if Dir has that file, and PATH_INFO is the rest. Paths without a script are not
	// found. Empty: the application answers every path, with the whole path in PATH_INFO.
	Split string `hcl:"split,optional"`

	// Index is the script that answers for a directory. Empty: "index" followed by Split.
	Index string `hcl:"index,optional"`

	// Fallback are the scripts that answer for a path that names no script: the first of these, at
	// most 16, that exists, such as "/index.php". {path} in it stands for the path of the request,
	// as in "{path}.php"; routes and conditions must decide alike on that script's path. The script
	// gets the requested path in REQUEST_URI. Nil: such paths are not found.
	Fallback []string `hcl:"fallback,optional"`

	// Prefix is the part of the path before the application's. Paths without it are not found.
	Prefix string `hcl:"prefix,optional"`

	// Env are variables that the application gets in addition to the request's.
	Env map[string]string `hcl:"env,optional"`

	// DialTimeout limits the time to connect to the application. Empty: "5s".
	DialTimeout string `hcl:"dial_timeout,optional"`

	// Timeout limits how long no data may pass in either direction. Empty: "60s".
	Timeout string `hcl:"timeout,optional"`

	// MaxHead is the size of the largest header that the application may send. Empty: "32KB".
	MaxHead string `hcl:"max_head,optional"`

	// MaxInput is the size of the largest request body; a larger one is answered by 413. The body
	// is stored in a temporary file before the request is sent. Empty: "100MB".
	MaxInput string `hcl:"max_input,optional"`

	// Width is the number of exchanges that may wait for the application's header, including those
	// whose request bodies are still being read. One client may have half of them. 0: 64.
	Width int `hcl:"width,optional"`

	// Queue is the number of exchanges that may wait for one of these places. 0: four times Width.
	Queue int `hcl:"queue,optional"`

	// Stderr receives what the application writes to its standard error; writes are serialized.
	// Nil: only the end of it is kept, for errors.
	Stderr io.Writer
}

// FastCGI is the component that [NewFastCGI] makes.
type FastCGI struct {
	FastCGIConfig
	network, address string
	folder           *folder // nil: scripts are not looked up
	candidates       []candidate.Candidate
	env              []fcgi.Param
	dialTimeout      time.Duration
	limits
	stderr io.Writer
}

// NewFastCGI returns the component, a *[FastCGI]. The caller closes it.
func NewFastCGI(cfg FastCGIConfig) (web.Component, error) {
	g := &FastCGI{FastCGIConfig: cfg, network: "tcp", address: cfg.Address, stderr: serialize(cfg.Stderr)}
	if path, ok := strings.CutPrefix(cfg.Address, "unix:"); ok {
		g.network, g.address = "unix", path
	} else if _, _, err := net.SplitHostPort(cfg.Address); err != nil {
		return nil, fmt.Errorf("fastcgi: address is %q, which is not an address: write \"HOST:PORT\" or \"unix:/PATH\"", cfg.Address)
	}
	if cfg.Width < 0 || cfg.Queue < 0 {
		return nil, fmt.Errorf("fastcgi: width and queue are %d and %d: neither may be negative", cfg.Width, cfg.Queue)
	}
	g.Width = cmp.Or(cfg.Width, 64)
	var err error
	if g.limits, err = readLimits("fastcgi: ", cfg.Timeout, cfg.MaxHead, cfg.MaxInput); err != nil {
		return nil, err
	}
	if g.dialTimeout, err = unit.Duration("fastcgi: dial_timeout", cfg.DialTimeout, 5*time.Second); err != nil {
		return nil, err
	}
	if g.Prefix, err = readPrefix("fastcgi: ", cfg.Prefix); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Env)) {
		g.env = append(g.env, fcgi.Param{Name: name, Value: cfg.Env[name]})
	}
	return g.open()
}

// open opens the directory of scripts.
func (g *FastCGI) open() (web.Component, error) {
	if g.Dir == "" && g.Split != "" {
		return nil, fmt.Errorf("fastcgi: split is %q, but dir is empty: set dir to the directory of the scripts", g.Split)
	}
	if len(g.Fallback) > 0 && g.Split == "" {
		return nil, fmt.Errorf("fastcgi: fallback is %q, but split is empty, so the application answers every path: set split, or remove fallback", g.Fallback)
	}
	if g.Split != "" && g.Split[0] != '.' {
		return nil, fmt.Errorf("fastcgi: split is %q, which does not begin with a dot: write an extension such as \".php\"", g.Split)
	}
	if g.Dir == "" {
		return g, nil
	}
	if err := g.setCandidates(); err != nil {
		return nil, err
	}
	folder, err := openFolder(g.Dir)
	if err != nil {
		return nil, fmt.Errorf("fastcgi: dir is %q, which cannot be opened: %w", g.Dir, err)
	}
	g.folder, g.Index = folder, cmp.Or(g.Index, "index"+g.Split)
	return g, nil
}

// setCandidates checks the scripts of Fallback.
func (g *FastCGI) setCandidates() error {
	if len(g.Fallback) > candidate.Max {
		return fmt.Errorf("fastcgi: fallback has %d elements, the maximum is %d", len(g.Fallback), candidate.Max)
	}
	for _, text := range g.Fallback {
		c, err := candidate.Parse(text)
		if err != nil {
			return fmt.Errorf("fastcgi: fallback: %w", err)
		}
		script := c.Example()
		if !strings.HasSuffix(script, g.Split) || strings.Contains(script, "/.") || strings.ContainsAny(script, "\\\x00") {
			return fmt.Errorf("fastcgi: fallback is %q, which does not name a script below dir: write a path such as %q", script, "/index"+g.Split)
		}
		g.candidates = append(g.candidates, c)
	}
	return nil
}

// Traits implements the optional part of [web.Component].
func (g *FastCGI) Traits() web.Traits {
	return web.Traits{Name: "fastcgi", Role: web.RoleSource, Width: g.Width, Queue: g.Queue,
		OtherPaths: slices.ContainsFunc(g.candidates, func(c candidate.Candidate) bool { return c.HasPath })}
}

// Handle implements [web.Component].
func (g *FastCGI) Handle(c *web.Conn) {
	if c.Answered() || rejectConnect(c) {
		return
	}
	at, ok := g.find(c.Path())
	if !ok && g.redirectToSlash(c) {
		return
	}
	if !ok {
		at, ok = g.fallback(c)
	}
	if !ok {
		c.Reply(http.StatusNotFound)
		return
	}
	in, ok := readInput(c, g.maxInput)
	if !ok {
		return
	}
	said := &tail{copyTo: g.stderr}
	r := &run{name: "fastcgi: " + g.Address, stderrTail: said, exitError: func() error { return nil }}
	ctx := c.Context()
	request, err := g.begin(ctx, append(slices.Clone(g.env), variables(c, at, in.size, g.Env)...), in, said)
	if err != nil {
		in.close()
		c.Answer(c.Fail(errorStatus(ctx, err), r.explain(err)))
		return
	}
	r.ReadCloser = requestWithInput{request, in}
	r.exitError = func() error {
		if code := request.Exit(); code != 0 {
			return fmt.Errorf("the application ended with exit status %d", code)
		}
		return nil
	}
	r.answer(c, g.maxHead)
	if c.Status() == http.StatusServiceUnavailable {
		c.SetHeader("Retry-After", "1")
	}
}

// begin connects and sends the request.
func (g *FastCGI) begin(ctx context.Context, params []fcgi.Param, in input, said *tail) (*fcgi.Request, error) {
	dialer := net.Dialer{Timeout: g.dialTimeout}
	conn, err := dialer.DialContext(ctx, g.network, g.address)
	if err != nil {
		return nil, err
	}
	return fcgi.Begin(ctx, conn, params, in.reader(), said, g.timeout)
}

// requestWithInput is a request with the file of its body.
type requestWithInput struct {
	*fcgi.Request
	in input
}

// Close implements [io.Closer].
func (a requestWithInput) Close() error {
	defer a.in.close()
	return a.Request.Close()
}

// find returns the script of a path.
func (g *FastCGI) find(urlPath string) (location, bool) {
	rest, ok := within(g.Prefix, urlPath)
	if !ok || strings.Contains(rest, "\x00") {
		return location{}, false
	}
	at := location{name: g.Prefix, info: rest}
	if g.folder == nil {
		return at, true
	}
	at.root = g.folder.path
	if g.Split == "" {
		return at, true
	}
	if rest == "" {
		rest = "/"
	}
	if strings.HasSuffix(rest, "/") && !strings.Contains(rest, g.Split+"/") {
		rest += g.Index
	}
	name, info, ok := g.folder.script(rest, g.Split)
	return g.script(name, info), ok
}

// script returns the location of a script.
func (g *FastCGI) script(name, info string) location {
	return location{name: g.Prefix + "/" + name, info: info, file: filepath.Join(g.folder.path, filepath.FromSlash(name)), root: g.folder.path}
}

// redirectToSlash redirects a request for a directory with an index script to the path with a final
// slash. It reports whether it did.
func (g *FastCGI) redirectToSlash(c *web.Conn) bool {
	rest, ok := within(g.Prefix, c.Path())
	if !ok || g.Split == "" || rest == "" {
		return false
	}
	if _, _, ok = g.folder.script(rest+"/"+g.Index, g.Split); !ok {
		return false
	}
	where, ok := slash.Location(c.RequestURI())
	if !ok {
		return false
	}
	c.Reply(http.StatusPermanentRedirect)
	c.SetHeader("Location", where)
	return true
}

// fallback returns the first script of Fallback that exists, for a path below the prefix. Access
// was decided on the path: neither a route nor a condition sees that of a script which the
// configuration names as a whole.
func (g *FastCGI) fallback(c *web.Conn) (location, bool) {
	requested, ok := within(g.Prefix, c.Path())
	if !ok {
		return location{}, false
	}
	for _, one := range g.candidates {
		path, ok := one.For(requested)
		if !ok || one.HasPath && !c.DecidedAlike(g.Prefix+path) {
			continue
		}
		if name, info, ok := g.folder.script(path, g.Split); ok && info == "" {
			return g.script(name, ""), true
		}
	}
	return location{}, false
}

// Close closes the directory. Requests in progress continue. It may be called several times.
func (g *FastCGI) Close() error {
	if g.folder == nil {
		return nil
	}
	return g.folder.root.Close()
}
