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
	"weir/web/components/internal/unit"
)

// FastCGIConfig says which application answers. The zero value of every field but Address is a good
// one.
type FastCGIConfig struct {
	// Address is where the application listens: "HOST:PORT" or "unix:/PATH".
	Address string `hcl:"address"`

	// Dir is the folder of its scripts, which must be here as it is there: it becomes
	// DOCUMENT_ROOT. Needed with Split.
	Dir string `hcl:"dir,optional"`

	// Split is the ending of scripts' names, such as ".php": of the path /page.php/info, page.php
	// is asked for with the rest in PATH_INFO, if Dir has that file, and what means no script is
	// not found. Empty: the application answers for every path, with all of it in PATH_INFO.
	Split string `hcl:"split,optional"`

	// Index is the script that answers for a folder. Empty: "index" and Split.
	Index string `hcl:"index,optional"`

	// Prefix is the front of the path that means the application. What does not begin with it is
	// not found.
	Prefix string `hcl:"prefix,optional"`

	// Env are variables that the application is given beside the request's.
	Env map[string]string `hcl:"env,optional"`

	// DialTimeout is how long making a connection may take. Empty: "5s".
	DialTimeout string `hcl:"dial_timeout,optional"`

	// Timeout is how long nothing may pass in either direction. Empty: "60s".
	Timeout string `hcl:"timeout,optional"`

	// MaxHead is the size of the largest head that the application may send. Empty: "32KB".
	MaxHead string `hcl:"max_head,optional"`

	// MaxInput is the size of the largest body of a request, which waits in a file of the system's
	// folder for such until it was read; a larger one is answered by 413. Empty: "100MB".
	MaxInput string `hcl:"max_input,optional"`

	// Width is how many exchanges wait for the application's head at once, those included whose
	// requests have bodies that are still read; half of them for one client, as web.Traits says.
	// 0: 64.
	Width int `hcl:"width,optional"`

	// Queue is how many may wait for that. 0: four times Width.
	Queue int `hcl:"queue,optional"`

	// Stderr gets what the application says to its standard error, a piece at a time, one after the
	// other. Nil: only the end of it is kept, for errors.
	Stderr io.Writer
}

// FastCGI is the component that [NewFastCGI] makes.
type FastCGI struct {
	FastCGIConfig
	network, address string
	folder           *folder // nil: no script is looked for
	env              []fcgi.Param
	dial             time.Duration
	limits
	stderr io.Writer
}

// NewFastCGI makes the component, which is a *[FastCGI]: who calls it calls its Close.
func NewFastCGI(cfg FastCGIConfig) (web.Component, error) {
	g := &FastCGI{FastCGIConfig: cfg, network: "tcp", address: cfg.Address, stderr: oneByOne(cfg.Stderr)}
	if path, ok := strings.CutPrefix(cfg.Address, "unix:"); ok {
		g.network, g.address = "unix", path
	} else if _, _, err := net.SplitHostPort(cfg.Address); err != nil {
		return nil, fmt.Errorf("fastcgi: address is %q, which is none: write \"HOST:PORT\" or \"unix:/PATH\"", cfg.Address)
	}
	if cfg.Width < 0 || cfg.Queue < 0 {
		return nil, fmt.Errorf("fastcgi: width and queue are %d and %d: neither may be negative", cfg.Width, cfg.Queue)
	}
	g.Width = cmp.Or(cfg.Width, 64)
	var err error
	if g.limits, err = readLimits("fastcgi: ", cfg.Timeout, cfg.MaxHead, cfg.MaxInput); err != nil {
		return nil, err
	}
	if g.dial, err = unit.Duration("fastcgi: dial_timeout", cfg.DialTimeout, 5*time.Second); err != nil {
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

// open opens the folder of scripts.
func (g *FastCGI) open() (web.Component, error) {
	if g.Dir == "" && g.Split != "" {
		return nil, fmt.Errorf("fastcgi: split is %q, but there is no dir: say in which folder the scripts are", g.Split)
	}
	if g.Split != "" && g.Split[0] != '.' {
		return nil, fmt.Errorf("fastcgi: split is %q, which is no ending: write one such as \".php\"", g.Split)
	}
	if g.Dir == "" {
		return g, nil
	}
	folder, err := openFolder(g.Dir)
	if err != nil {
		return nil, fmt.Errorf("fastcgi: dir is %q, which can't be opened: %w", g.Dir, err)
	}
	g.folder, g.Index = folder, cmp.Or(g.Index, "index"+g.Split)
	return g, nil
}

// Traits says how the component is composed.
func (g *FastCGI) Traits() web.Traits {
	return web.Traits{Name: "fastcgi", Role: web.RoleSource, Width: g.Width, Queue: g.Queue}
}

// Handle implements [web.Component].
func (g *FastCGI) Handle(c *web.Conn) {
	if c.Answered() || noTunnel(c) {
		return
	}
	at, ok := g.find(c.Path())
	if !ok {
		c.Reply(http.StatusNotFound)
		return
	}
	in, ok := takeInput(c, g.maxInput)
	if !ok {
		return
	}
	said := &tail{copy: g.stderr}
	r := &run{name: "fastcgi: " + g.Address, said: said, exit: func() error { return nil }}
	ctx := c.Context()
	request, err := g.begin(ctx, append(slices.Clone(g.env), variables(c, at, in.size, g.Env)...), in, said)
	if err != nil {
		in.close()
		c.Answer(c.Fail(status(ctx, err), r.because(err)))
		return
	}
	r.ReadCloser = asked{request, in}
	r.exit = func() error {
		if code := request.Exit(); code != 0 {
			return fmt.Errorf("it ended with exit status %d", code)
		}
		return nil
	}
	r.answer(c, g.maxHead)
	if c.Status() == http.StatusServiceUnavailable {
		c.SetHeader("Retry-After", "1")
	}
}

// begin sends the request.
func (g *FastCGI) begin(ctx context.Context, params []fcgi.Param, in input, said *tail) (*fcgi.Request, error) {
	dialer := net.Dialer{Timeout: g.dial}
	conn, err := dialer.DialContext(ctx, g.network, g.address)
	if err != nil {
		return nil, err
	}
	return fcgi.Begin(ctx, conn, params, in.reader(), said, g.timeout)
}

// asked is a request with its input.
type asked struct {
	*fcgi.Request
	in input
}

// Close implements [io.Closer].
func (a asked) Close() error {
	defer a.in.close()
	return a.Request.Close()
}

// find says which script a path means.
func (g *FastCGI) find(urlPath string) (place, bool) {
	rest, ok := within(g.Prefix, urlPath)
	if !ok || strings.Contains(rest, "\x00") {
		return place{}, false
	}
	at := place{name: g.Prefix, info: rest}
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
	return place{name: g.Prefix + "/" + name, info: info, file: filepath.Join(g.folder.path, filepath.FromSlash(name)), root: g.folder.path}, ok
}

// Close lets go of the folder. Requests under way go on. It may be called several times.
func (g *FastCGI) Close() error {
	if g.folder == nil {
		return nil
	}
	return g.folder.root.Close()
}
