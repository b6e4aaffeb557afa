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

// Config sets which programs answer. Either Dir or Program is required; all other fields may be
// zero.
type Config struct {
	// Dir is a directory of programs. For the path /dir/program/info, the first executable file is
	// run, with the rest of the path in PATH_INFO. Names that begin with a dot are not found.
	Dir string `hcl:"dir,optional"`

	// Program is one program that answers every path, with the whole path in PATH_INFO: a file, or
	// a name that is looked up in the server's PATH.
	Program string `hcl:"program,optional"`

	// Args are arguments of Program.
	Args []string `hcl:"args,optional"`

	// Prefix is the part of the path before the program's, such as "/cgi-bin". Paths without it are
	// not found.
	Prefix string `hcl:"prefix,optional"`

	// Env are variables that each program gets in addition to the request's. PATH is
	// "/usr/local/bin:/usr/bin:/bin" unless it is set here.
	Env map[string]string `hcl:"env,optional"`

	// Timeout is how long a program may run in all. Empty: "60s".
	Timeout string `hcl:"timeout,optional"`

	// IdleTimeout limits how long a program may write nothing of its body while the server reads;
	// then it is killed. It does not apply to event streams. Empty: "60s". "0s": no limit.
	IdleTimeout string `hcl:"idle_timeout,optional"`

	// MaxHead is the size of the largest header that a program may write. Empty: "32KB".
	MaxHead string `hcl:"max_head,optional"`

	// MaxInput is the size of the largest request body; a larger one is answered by 413. The body
	// is stored in a temporary file before the program starts. Empty: "100MB".
	MaxInput string `hcl:"max_input,optional"`

	// Width is the number of programs that may work on their headers at once, including those whose
	// request bodies are still being read. One client may have half of them. 0:
	// 16.
	Width int `hcl:"width,optional"`

	// Queue is the number of exchanges that may wait for one of these places. 0: four times Width.
	Queue int `hcl:"queue,optional"`

	// MaxRunning is the number of programs that may run at once, including those whose bodies are
	// sent to slow clients. Further requests are answered by 503. One client's address may have
	// half of them, except loopback. Behind a load balancer, put its address into the server's
	// trusted: otherwise all users count as one client. 0: four times Width.
	MaxRunning int `hcl:"max_running,optional"`

	// Stderr receives what programs write to their standard error; writes are serialized. Nil: only
	// the end of it is kept, for errors.
	Stderr io.Writer

	// OnOverLimit receives a line for the operator when a client is rejected because it has half of
	// MaxRunning. Goroutines of exchanges call it. Nil: not reported.
	OnOverLimit func(line string)
}

// defaultPath is the PATH of programs, unless Env sets one.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// CGI is the component that [New] makes.
type CGI struct {
	Config
	folder *folder // nil: there is one program
	env    []string
	limits
	idleTimeout time.Duration // 0: no limit
	stderr      io.Writer
	running     *share.Limit
}

// The reasons why no program answers a request.
var (
	errTunnel = errors.New("cgi: CONNECT is not supported")
	errBusy   = errors.New("cgi: max_running programs are running")
	errChoice = errors.New("cgi: set either dir, a directory of programs, or program, the path of one")
)

// New returns the component, a *[CGI]. The caller closes it.
func New(cfg Config) (web.Component, error) {
	g := &CGI{Config: cfg, stderr: serialize(cfg.Stderr)}
	var err error
	if g.limits, err = readLimits("cgi: ", cfg.Timeout, cfg.MaxHead, cfg.MaxInput); err != nil {
		return nil, err
	}
	if g.idleTimeout, err = unit.Duration("cgi: idle_timeout", cfg.IdleTimeout, time.Minute); err != nil {
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
			return nil, fmt.Errorf("cgi: env has %q, which is not a valid variable", name)
		}
		g.env = append(g.env, name+"="+env[name])
	}
	if err := g.open(); err != nil {
		return nil, err
	}
	return g, nil
}

// open finds the program or opens the directory of programs.
func (g *CGI) open() (err error) {
	switch {
	case (g.Dir == "") == (g.Program == ""):
		return errChoice
	case g.Program == "" && len(g.Args) > 0:
		return fmt.Errorf("cgi: args are %q, but there is no program: set program or remove args", g.Args)
	case g.Program != "":
		if g.Program, err = exec.LookPath(g.Program); err == nil {
			g.Program, err = filepath.Abs(g.Program)
		}
		if err != nil {
			return fmt.Errorf("cgi: program is %q, which cannot be run: %w", g.Config.Program, err)
		}
	default:
		if g.folder, err = openFolder(g.Dir); err != nil {
			return fmt.Errorf("cgi: dir is %q, which cannot be opened: %w", g.Dir, err)
		}
	}
	return nil
}

// limits are settings that both components have.
type limits struct {
	timeout           time.Duration
	maxHead, maxInput int64
}

func readLimits(of, timeout, maxHead, maxInput string) (l limits, err error) {
	if l.timeout, err = unit.Duration(of+"timeout", timeout, time.Minute); err != nil {
		return l, err
	}
	if l.timeout == 0 {
		return l, fmt.Errorf("%stimeout is %q, which is too short: write a duration such as \"60s\"", of, timeout)
	}
	if l.maxHead, err = unit.Size(of+"max_head", maxHead, 32<<10); err != nil {
		return l, err
	}
	if l.maxHead < 64 {
		return l, fmt.Errorf("%smax_head is %q, which is too small: write a size such as \"32KB\"", of, maxHead)
	}
	l.maxInput, err = unit.Size(of+"max_input", maxInput, 100<<20)
	return l, err
}

func readPrefix(of, prefix string) (string, error) {
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix != "" && prefix[0] != '/' {
		return "", fmt.Errorf("%sprefix is %q, which does not begin with a slash: write a path such as \"/cgi-bin\"", of, prefix)
	}
	return prefix, nil
}

// serialize returns a writer that several goroutines may use.
func serialize(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	return &serialWriter{w: w}
}

type serialWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements [io.Writer].
func (l *serialWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Traits implements the optional part of [web.Component].
func (g *CGI) Traits() web.Traits {
	return web.Traits{Name: "cgi", Role: web.RoleSource, Width: g.Width, Queue: g.Queue}
}

// Handle implements [web.Component].
func (g *CGI) Handle(c *web.Conn) {
	if c.Answered() || rejectConnect(c) {
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
	in, ok := readInput(c, g.maxInput)
	if !ok {
		g.running.Leave(c.RemoteAddr())
		return
	}
	defer in.close() // the program has a descriptor of its own
	said := &tail{copyTo: g.stderr}
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

// rejectConnect answers a CONNECT, and reports whether the request was one.
func rejectConnect(c *web.Conn) bool {
	if c.Method() != http.MethodConnect {
		return false
	}
	c.Answer(c.Fail(http.StatusNotImplemented, errTunnel))
	return true
}

// start starts the program, and answers with its output.
func (g *CGI) start(c *web.Conn, cmd *exec.Cmd, said *tail) {
	p, err := start(c.Context(), g.timeout, cmd)
	if err != nil {
		g.running.Leave(c.RemoteAddr())
		c.Answer(c.Fail(http.StatusInternalServerError, fmt.Errorf("cgi: %s cannot be started: %w", cmd.Path, err)))
		return
	}
	r := &run{ReadCloser: countedProcess{p, g.running, c.RemoteAddr()}, name: "cgi: " + cmd.Path, stderrTail: said, exitError: p.exitError, awaitExit: p.awaitExit}
	if g.idleTimeout > 0 {
		r.afterHeader = func() { p.limitIdle(g.idleTimeout) }
	}
	r.answer(c, g.maxHead)
}

// countedProcess is a process that counts towards MaxRunning.
type countedProcess struct {
	*process
	running *share.Limit
	client  string // its address
}

// Close implements [io.Closer].
func (r countedProcess) Close() error {
	defer r.running.Leave(r.client)
	return r.process.Close()
}

// find returns the program of a path.
func (g *CGI) find(urlPath string) (location, bool) {
	rest, ok := within(g.Prefix, urlPath)
	if !ok || strings.Contains(rest, "\x00") {
		return location{}, false
	}
	if g.folder == nil {
		return location{name: g.Prefix, info: rest, file: g.Program}, true
	}
	name, info, ok := g.folder.program(rest)
	return location{name: g.Prefix + "/" + name, info: info, file: filepath.Join(g.folder.path, filepath.FromSlash(name)), root: g.folder.path}, ok
}

// Running returns the number of programs that run. Any goroutine may call it.
func (g *CGI) Running() int { return g.running.Inside() }

// Close closes the directory. Running programs end with their exchanges. It may be called several
// times.
func (g *CGI) Close() error {
	if g.folder == nil {
		return nil
	}
	return g.folder.root.Close()
}
