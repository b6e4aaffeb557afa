package cgi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/web"
	"weir/web/components/internal/share"
	"weir/web/components/internal/unit"
)

// Config says which programs answer. One of Dir and Program is given; the zero value of the others
// is a good one.
type Config struct {
	// Dir is a folder of programs: of the path /dir/program/info, the first executable file is run,
	// with the rest in PATH_INFO. Names that begin with a dot are not found.
	Dir string `hcl:"dir,optional"`

	// Program is one program that answers for every path, with all of it in PATH_INFO: its file, or
	// its name where the server's own PATH finds it.
	Program string `hcl:"program,optional"`

	// Args are arguments of Program.
	Args []string `hcl:"args,optional"`

	// Prefix is the front of the path that means the folder, or the program: "/cgi-bin" for a Dir.
	// What does not begin with it is not found.
	Prefix string `hcl:"prefix,optional"`

	// Env are variables that each program has beside the request's. PATH is
	// "/usr/local/bin:/usr/bin:/bin" unless it is here.
	Env map[string]string `hcl:"env,optional"`

	// Timeout is how long a program may run in all. Empty: "60s".
	Timeout string `hcl:"timeout,optional"`

	// IdleTimeout is for how long nothing of the body may come behind the head, while it is waited
	// for: then the program is killed. It does not hold for event streams. Empty: "60s"; "0s": for
	// ever.
	IdleTimeout string `hcl:"idle_timeout,optional"`

	// MaxHead is the size of the largest head that a program may write. Empty: "32KB".
	MaxHead string `hcl:"max_head,optional"`

	// MaxInput is the size of the largest body of a request, which waits in a file of the system's
	// folder for such until it was read; a larger one is answered by 413. Empty: "100MB".
	MaxInput string `hcl:"max_input,optional"`

	// Width is how many programs are at work on their heads at once, those included whose requests
	// have bodies that are still read; half of them for one client, as web.Traits says. 0: sixteen.
	Width int `hcl:"width,optional"`

	// Queue is how many exchanges may wait for that. 0: four times Width.
	Queue int `hcl:"queue,optional"`

	// MaxRunning is how many programs may run at once, those included whose bodies are on their way
	// to slow clients, and half of them for one client's address, but for loopback; beyond, the
	// answer is 503. Behind a load balancer, name its address in the server's trusted: otherwise
	// all users are that one client. 0: four times Width.
	MaxRunning int `hcl:"max_running,optional"`

	// Stderr gets what programs write to their standard error, a piece at a time, one after the
	// other. Nil: only the end of it is kept, for errors.
	Stderr io.Writer

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// MaxRunning. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

// defaultPath is where programs find others.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// CGI is the component that [New] makes.
type CGI struct {
	Config
	folder *folder // nil: there is one program
	env    []string
	limits
	idle    time.Duration // 0: no limit
	stderr  io.Writer
	running *share.Limit
}

// Why there is no program for a request.
var (
	errTunnel = errors.New("cgi: CONNECT asks for a tunnel, which no program is")
	errBusy   = errors.New("cgi: as many programs run as max_running says")
	errChoice = errors.New("cgi: give either dir, a folder of programs, or program, the file of one")
)

// New makes the component, which is a *[CGI]: who calls New calls its Close.
func New(cfg Config) (web.Component, error) {
	g := &CGI{Config: cfg, stderr: oneByOne(cfg.Stderr)}
	var err error
	if g.limits, err = readLimits("cgi: ", cfg.Timeout, cfg.MaxHead, cfg.MaxInput); err != nil {
		return nil, err
	}
	if g.idle, err = unit.Duration("cgi: idle_timeout", cfg.IdleTimeout, time.Minute); err != nil {
		return nil, err
	}
	if cfg.Width < 0 || cfg.Queue < 0 || cfg.MaxRunning < 0 {
		return nil, fmt.Errorf("cgi: width, queue and max_running are %d, %d and %d: none may be negative", cfg.Width, cfg.Queue, cfg.MaxRunning)
	}
	if g.Prefix, err = readPrefix("cgi: ", cfg.Prefix); err != nil {
		return nil, err
	}
	g.Width = cmp.Or(cfg.Width, 16)
	g.MaxRunning = cmp.Or(cfg.MaxRunning, 4*g.Width)
	g.running = share.New(g.MaxRunning, cfg.OnOverLimit)
	env := map[string]string{"PATH": defaultPath}
	maps.Copy(env, cfg.Env)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if name == "" || strings.ContainsAny(name+env[name], "\x00") || strings.Contains(name, "=") {
			return nil, fmt.Errorf("cgi: env has %q, which can't be a variable", name)
		}
		g.env = append(g.env, name+"="+env[name])
	}
	if err := g.open(); err != nil {
		return nil, err
	}
	return g, nil
}

// open finds the programs.
func (g *CGI) open() (err error) {
	switch {
	case (g.Dir == "") == (g.Program == ""):
		return errChoice
	case g.Program == "" && len(g.Args) > 0:
		return fmt.Errorf("cgi: args are %q, but there is no program: they are for one", g.Args)
	case g.Program != "":
		if g.Program, err = exec.LookPath(g.Program); err == nil {
			g.Program, err = filepath.Abs(g.Program)
		}
		if err != nil {
			return fmt.Errorf("cgi: program is %q, which can't be run: %w", g.Config.Program, err)
		}
	default:
		if g.folder, err = openFolder(g.Dir); err != nil {
			return fmt.Errorf("cgi: dir is %q, which can't be opened: %w", g.Dir, err)
		}
	}
	return nil
}

// limits are what both components have.
type limits struct {
	timeout           time.Duration
	maxHead, maxInput int64
}

func readLimits(of, timeout, maxHead, maxInput string) (l limits, err error) {
	if l.timeout, err = unit.Duration(of+"timeout", timeout, time.Minute); err != nil {
		return l, err
	}
	if l.timeout == 0 {
		return l, fmt.Errorf("%stimeout is %q, which leaves no time: write one such as \"60s\"", of, timeout)
	}
	if l.maxHead, err = unit.Size(of+"max_head", maxHead, 32<<10); err != nil {
		return l, err
	}
	if l.maxHead < 64 {
		return l, fmt.Errorf("%smax_head is %q, which holds no head: write a size such as \"32KB\"", of, maxHead)
	}
	l.maxInput, err = unit.Size(of+"max_input", maxInput, 100<<20)
	return l, err
}

func readPrefix(of, prefix string) (string, error) {
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix != "" && prefix[0] != '/' {
		return "", fmt.Errorf("%sprefix is %q, which begins no path: write one such as \"/cgi-bin\"", of, prefix)
	}
	return prefix, nil
}

// oneByOne keeps writers out of each other's way.
func oneByOne(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	return &locked{w: w}
}

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements [io.Writer].
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Traits says how the component is composed.
func (g *CGI) Traits() web.Traits {
	return web.Traits{Name: "cgi", Role: web.RoleSource, Width: g.Width, Queue: g.Queue}
}

// Handle implements [web.Component].
func (g *CGI) Handle(c *web.Conn) {
	if c.Answered() || noTunnel(c) {
		return
	}
	at, ok := g.find(c.Path())
	if !ok {
		c.Reply(http.StatusNotFound)
		return
	}
	if !g.running.Enter(c.RemoteAddr()) {
		c.Answer(c.Fail(http.StatusServiceUnavailable, errBusy))
		c.SetHeader("Retry-After", "1")
		return
	}
	in, ok := takeInput(c, g.maxInput)
	if !ok {
		g.running.Leave(c.RemoteAddr())
		return
	}
	defer in.close() // the program has its own
	said := &tail{copy: g.stderr}
	cmd := exec.Command(at.file, g.Args...)
	cmd.Dir, cmd.Stdin, cmd.Stderr = filepath.Dir(at.file), in.reader(), said
	cmd.Env = slices.Clone(g.env)
	for _, v := range variables(c, at, in.size, g.Env) {
		if v.Name != "HTTP_AUTHORIZATION" {
			cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
		}
	}
	g.start(c, cmd, said)
}

// noTunnel answers a CONNECT, and reports whether the request was one.
func noTunnel(c *web.Conn) bool {
	if c.Method() != http.MethodConnect {
		return false
	}
	c.Answer(c.Fail(http.StatusNotImplemented, errTunnel))
	return true
}

// start runs the program, and answers by it.
func (g *CGI) start(c *web.Conn, cmd *exec.Cmd, said *tail) {
	p, err := start(c.Context(), g.timeout, cmd)
	if err != nil {
		g.running.Leave(c.RemoteAddr())
		c.Answer(c.Fail(http.StatusInternalServerError, fmt.Errorf("cgi: %s can't be started: %w", cmd.Path, err)))
		return
	}
	r := &run{ReadCloser: counted{p, g.running, c.RemoteAddr()}, name: "cgi: " + cmd.Path, said: said, exit: p.exit, settle: p.settle}
	if g.idle > 0 {
		r.headed = func() { p.limitSilence(g.idle) }
	}
	r.answer(c, g.maxHead)
}

// counted is a process that is one of those that run.
type counted struct {
	*process
	running *share.Limit
	client  string // its address
}

// Close implements [io.Closer].
func (r counted) Close() error {
	defer r.running.Leave(r.client)
	return r.process.Close()
}

// find says which program a path means.
func (g *CGI) find(urlPath string) (place, bool) {
	rest, ok := within(g.Prefix, urlPath)
	if !ok || strings.Contains(rest, "\x00") {
		return place{}, false
	}
	if g.folder == nil {
		return place{name: g.Prefix, info: rest, file: g.Program}, true
	}
	name, info, ok := g.folder.program(rest)
	return place{name: g.Prefix + "/" + name, info: info, file: filepath.Join(g.folder.path, filepath.FromSlash(name)), root: g.folder.path}, ok
}

// Running is how many programs run. It may be called from any goroutine.
func (g *CGI) Running() int { return g.running.Inside() }

// Close lets go of the folder. Programs that run end with their exchanges. It may be called several
// times.
func (g *CGI) Close() error {
	if g.folder == nil {
		return nil
	}
	return g.folder.root.Close()
}
