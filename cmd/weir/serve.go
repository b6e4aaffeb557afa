package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"weir/internal/certificate"
	"weir/internal/suggest"
	"weir/web/site"
)

type serveCmd struct {
	Run        serveRunCmd   `cmd:"" default:"withargs" help:"Serve a folder, or the site of a site file; example: weir serve www"`
	Check      serveCheckCmd `cmd:"" help:"Check a site file; example: weir serve check site.hcl"`
	Draw       serveDrawCmd  `cmd:"" help:"Draw the components of a site file as a network; example: weir serve draw site.hcl > site.svg"`
	Password   passwordCmd   `cmd:"" help:"Create a line of a users file, for the component authenticate; example: weir serve password ann >> users"`
	Models     modelsCmd     `cmd:"" help:"List which engine of HTTP/1 runs by which concurrency model; example: weir serve models"`
	Components componentsCmd `cmd:"" help:"List or explain the components of site files; example: weir serve components limit_rate"`
}

// Help is the long part of the command's help.
func (c *serveCmd) Help() string {
	return `weir serve TARGET [flags] is short for weir serve run TARGET [flags]; weir help serve run explains them.

Examples:

  weir serve                            this folder, on http://127.0.0.1:8080
  weir serve www --listen :8080         another folder, on every address of this machine
  weir serve site.hcl --run network --admin 127.0.0.1:9090`
}

type serveRunCmd struct {
	Target string `arg:"" default:"." help:"A folder or a site file (write ./check for one with the name of a command)."`

	Listen     string `placeholder:"HOST:PORT" help:"Address to listen on (default: the site file's, or 127.0.0.1:8080)."`
	Way        string `name:"run" enum:",chain,network" default:"" predictor:"model" placeholder:"chain|network" help:"Concurrency model of the components: chain (calls) or network (a goroutine each)."`
	Engine     string `enum:",http1,nethttp" default:"" placeholder:"http1|nethttp" help:"What serves HTTP/1: http1 (this project's engine) or nethttp (Go's). Default: the site file's, or http1."`
	Model      string `enum:",goroutine,pool,loop,coroutine,prefork,process" default:"" placeholder:"goroutine|pool|loop|coroutine|prefork|process" help:"Concurrency model of the connections of HTTP/1 (default: the site file's, or goroutine); all but goroutine need the engine http1."`
	Admin      string `placeholder:"HOST:PORT" help:"Address of the admin page, which draws the running site, with /metrics and /debug/pprof."`
	AdminUsers string `placeholder:"FILE" help:"Users file of the admin page, from weir serve password; required unless its address is loopback."`

	Log   string `placeholder:"FILE" help:"For a folder: write an access log to this file; - is standard output."`
	Stack string `placeholder:"SPEC" help:"Listen on a host in user space: addr=10.0.0.2/24, with tap=weir0, setup and the other settings of weir stack up."`

	variablesFlag

	onStack   *stackUpCmd // the settings of Stack; nil without it
	isChild   bool        // this process is a child of another weir serve
	directory string      // the working directory at the start
}

// Help is the long part of the command's help.
func (c *serveRunCmd) Help() string {
	return `A folder is served with index pages, listings, ranges, conditional requests and compression. A site file configures more: its routes are pipelines of components, which weir serve components lists. Paths in it are relative to its folder. When the file changes, or on SIGHUP, it is read again, and every connection stays. An invalid file is rejected with its line and column; the running configuration stays in effect.

The admin page has no login on a loopback address, such as 127.0.0.1:9090. For any other address, --admin-users names a users file.

--stack takes the settings of weir stack up, separated by commas: addr, tap, gateway, route, dns, mtu, offload, queues, run, pcap, setup, probe, namespace, peer, bridge and metrics. Without --listen the site listens on port 80 of the host's address. weir stack netstat and the other commands use the host while it runs.

SIGTERM and Ctrl-C stop the server after it has finished the requests under way. A second signal ends that at once.

Examples:

  weir serve                            this folder, on http://127.0.0.1:8080
  weir serve www --listen :8080         on every address of this machine
  weir serve site.hcl --admin 127.0.0.1:9090
  weir serve site.hcl --run network     a goroutine per component
  weir serve site.hcl --set port=8080   with a value for its variable "port"
  sudo weir serve www --stack addr=10.0.0.2/24,setup     on a TCP/IP stack of its own, at http://10.0.0.2/`
}

// variablesFlag is the flag that gives values to variables of a site file.
type variablesFlag struct {
	Set []string `sep:"none" placeholder:"NAME=VALUE" help:"Give a variable of the site file a value; repeatable."`
}

// values returns the values of variables from the flag and the environment.
func (f variablesFlag) values() (site.Values, error) {
	v := site.Values{Set: map[string]string{}, LookupEnv: os.LookupEnv}
	for _, one := range f.Set {
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" { // without the text, which may be a password
			return v, usageError{errors.New("--set has no name or no value: write it as in --set port=8080")}
		}
		if _, ok := v.Set[name]; ok {
			return v, usageError{fmt.Errorf("--set gives %s a value twice: remove one", name)}
		}
		v.Set[name] = value
	}
	return v, nil
}

type serveCheckCmd struct {
	Site   string `arg:"" help:"The site file."`
	Engine string `enum:",http1,nethttp" default:"" placeholder:"http1|nethttp" help:"Check for this engine of HTTP/1, as weir serve --engine (default: the site file's, or http1)."`
	Model  string `enum:",goroutine,pool,loop,coroutine,prefork,process" default:"" placeholder:"goroutine|pool|loop|coroutine|prefork|process" help:"Check for this concurrency model, as weir serve --model (default: the site file's, or goroutine)."`
	variablesFlag
}

// Help is the long part of the command's help.
func (c *serveCheckCmd) Help() string {
	return `Opens everything that the components need, as for serving, and creates nothing. A missing folder is an error, and so is a log that cannot be written. With --model, so is a component that the model cannot run, such as a rate limit by prefork.

Examples:

  weir serve check site.hcl
  weir serve check site.hcl --model prefork`
}

// Run implements the command.
func (c *serveCheckCmd) Run(t *terminal) error {
	values, err := c.values()
	if err != nil {
		return err
	}
	file, err := enter(c.Site)
	if err != nil {
		return err
	}
	values.Engine, values.Model = c.Engine, c.Model
	s, err := site.Check(file, values)
	if err != nil {
		return explain(t, err)
	}
	defer s.Close()
	for _, service := range s.Services {
		if _, err := parseEngine(service.Engine, service.Model); err != nil {
			return err
		}
		if err := checkCertificates(t, service.Server); err != nil {
			return err
		}
	}
	fmt.Fprintf(t.out, "%s is valid\n", c.Site)
	return nil
}

// checkCertificates returns an error for files of certificates that cannot be used, and prints a
// warning for certificates that clients will reject.
func checkCertificates(t *terminal, s site.Server) error {
	prefix := service{name: s.Name}.prefix()
	for _, files := range s.TLS {
		if files.Cert == "" {
			continue
		}
		problem, err := certificate.CheckFiles(files.Cert, files.Key)
		if err != nil {
			return fmt.Errorf("%s%w", prefix, err)
		}
		if problem != "" {
			t.errorLine("warning: " + prefix + problem)
		}
	}
	return nil
}

// Run implements the command.
func (c *serveRunCmd) Run(ctx context.Context, t *terminal) error {
	if err := c.enter(); err != nil {
		return err
	}
	if c.Stack != "" {
		var err error
		if c.onStack, err = stackSpec(c.Stack); err != nil {
			return err
		}
	}
	if c.AdminUsers != "" { // before the working directory changes to that of the site file
		var err error
		if c.AdminUsers, err = filepath.Abs(c.AdminUsers); err != nil {
			return err
		}
	}
	info, err := os.Stat(c.Target)
	if err != nil {
		return c.noTarget(err)
	}
	if info.IsDir() {
		if len(c.Set) > 0 {
			return usageError{errors.New("--set is for site files: a folder has no variables")}
		}
		return c.serveFolder(ctx, t)
	}
	if c.Log != "" {
		return usageError{errors.New("--log is for folders: a site file has the component log")}
	}
	return c.serveSite(ctx, t)
}

// noTarget is the error of a target that is neither a folder nor a file. A mistyped command is
// taken for a target.
func (c *serveRunCmd) noTarget(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: name a folder or a site file", err)
	}
	hint := ""
	if command := suggest.Nearest(c.Target, []string{"check", "draw", "password", "models", "components"}); command != "" {
		hint = fmt.Sprintf("; did you mean %q?", "weir serve "+command)
	}
	return usageError{fmt.Errorf("there is no folder or site file %s: name one that exists%s", c.Target, hint)}
}
