package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"weir/internal/suggest"
	"weir/web/site"
)

type serveCmd struct {
	Run        serveRunCmd   `cmd:"" default:"withargs" help:"Serve a folder, or what a site file says; example: weir serve www"`
	Check      serveCheckCmd `cmd:"" help:"Say whether a site file is right, and where it is not; example: weir serve check site.hcl"`
	Draw       serveDrawCmd  `cmd:"" help:"Draw what a site file says as a network; example: weir serve draw site.hcl > site.svg"`
	Password   passwordCmd   `cmd:"" help:"Make a line for a file of users, as the component authenticate reads it; example: weir serve password ann >> users"`
	Components componentsCmd `cmd:"" help:"List the components that a site file can name."`
}

// Help is the long part of the command's help.
func (c *serveCmd) Help() string {
	return `weir serve TARGET [flags] is short for weir serve run TARGET [flags]; weir serve run --help says more about it.

Examples:

  weir serve                            this folder, on http://127.0.0.1:8080
  weir serve www --listen :8080         another, for every address of this machine
  weir serve site.hcl --run network --admin 127.0.0.1:9090`
}

type serveRunCmd struct {
	Target string `arg:"" default:"." help:"A folder, or a site file (name it ./check if it is called like a command)."`

	Listen     string `placeholder:"HOST:PORT" help:"Where to listen: what the site file says, otherwise 127.0.0.1:8080."`
	Way        string `name:"run" enum:",chain,network" default:"" predictor:"model" placeholder:"chain|network" help:"Concurrency model of the components: chain (calls) or network (a goroutine each)."`
	Admin      string `placeholder:"HOST:PORT" help:"Where to show the network while it runs, with /metrics and /debug/pprof."`
	AdminUsers string `placeholder:"FILE" help:"Who may look there, as weir serve password makes the file; needed for an address that is not loopback."`

	Log   string `placeholder:"FILE" help:"Of a folder: write a line for each request; - is standard output."`
	Stack string `placeholder:"SPEC" help:"Listen on a host in user space: addr=10.0.0.2/24, and tap=weir0, setup and more as weir stack up has them."`

	onStack *stackUpCmd // what Stack says; nil: it says nothing
}

// Help is the long part of the command's help.
func (c *serveRunCmd) Help() string {
	return `A folder is served at once, with index pages, listings, ranges, conditional requests and compression. A site file says more: its
routes read as pipelines of components (weir serve components lists them). Its paths are relative to its own folder. When the
file changes, or on SIGHUP, the site changes with it, and every connection stays; a wrong file is refused and what runs goes on.

Examples:

  weir serve                            this folder, on http://127.0.0.1:8080
  weir serve www --listen :8080         for every address of this machine
  weir serve site.hcl --admin 127.0.0.1:9090
  weir serve site.hcl --run network     each component a process of its own
  sudo weir serve www --stack addr=10.0.0.2/24,setup     on a TCP/IP stack of its own, at http://10.0.0.2/

--stack takes what weir stack up takes, with commas between: addr, tap, gateway, dns, mtu, offload, queues, run, pcap, setup, probe,
namespace, peer, bridge and metrics. Without --listen it listens on port 80 of the host's address; weir stack netstat and the others use the host while it runs.

The admin page has no login on a loopback address, such as 127.0.0.1:9090; for any other, --admin-users names a file of those who may look.

SIGTERM and Ctrl-C stop: what is being answered is finished first. A second one ends that at once.`
}

type serveCheckCmd struct {
	Site string `arg:"" help:"The site file."`
}

// Help is the long part of the command's help.
func (c *serveCheckCmd) Help() string {
	return `What the components need is opened as for serving, and nothing is made: a folder that is not there is an error, and so is a log that
could not be written to.

Example:

  weir serve check site.hcl`
}

// Run implements the command.
func (c *serveCheckCmd) Run(t *terminal) error {
	file, err := enter(c.Site)
	if err != nil {
		return err
	}
	s, err := site.Check(file)
	if err != nil {
		return explain(t, err)
	}
	defer s.Close()
	if files := s.Server.TLS; files != nil && files.Cert != "" {
		if _, err := tls.LoadX509KeyPair(files.Cert, files.Key); err != nil {
			return fmt.Errorf("the certificate %s with the key %s: %w", files.Cert, files.Key, err)
		}
	}
	fmt.Fprintf(t.out, "%s is right\n", c.Site)
	return nil
}

type componentsCmd struct {
	JSON bool `name:"json" help:"Write the list as JSON."`
}

// Run implements the command.
func (c *componentsCmd) Run(t *terminal) error {
	kinds := site.Kinds()
	if c.JSON {
		return t.json(kinds)
	}
	for _, k := range kinds {
		fmt.Fprintf(t.out, "%-14s %s\n", k.Name, k.About)
	}
	return nil
}

// Run implements the command.
func (c *serveRunCmd) Run(ctx context.Context, t *terminal) error {
	if c.Stack != "" {
		var err error
		if c.onStack, err = stackSpec(c.Stack); err != nil {
			return err
		}
	}
	if c.AdminUsers != "" { // before the site's own folder is gone to
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
	if command := suggest.Nearest(c.Target, []string{"check", "draw", "password", "components"}); command != "" {
		hint = fmt.Sprintf("; did you mean %q?", "weir serve "+command)
	}
	return usageError{fmt.Errorf("there is no folder or site file %s%s", c.Target, hint)}
}
