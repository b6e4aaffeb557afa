// Command weir compares, measures and runs network services.
//
// This package is wiring: it reads flags, calls the parts, prints, and turns errors into exit
// statuses (exit.go). Results go to standard output; progress, hints and errors to standard error.
// Colour and live lines appear on terminals only.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

type cli struct {
	Lab   labCmd   `cmd:"" group:"measure" help:"Compare servers: run experiments, list subjects, measure commands."`
	Load  loadCmd  `cmd:"" group:"measure" help:"Send a controlled load to any server."`
	Serve serveCmd `cmd:"" group:"serve" help:"Serve a folder, or a web site composed of components."`
	Vet   vetCmd   `cmd:"" group:"serve" help:"Find components that use a Conn after they passed it on."`
	Chat  chatCmd  `cmd:"" group:"chat" help:"Host a chat that every IRC client can use."`
	Stack stackCmd `cmd:"" group:"stack" help:"Run a host with a TCP/IP stack in user space, and use it from the shell."`

	Help       helpCmd       `cmd:"" group:"about" help:"Explain a command; example: weir help lab run"`
	Version    versionCmd    `cmd:"" group:"about" help:"Print the version of weir; also weir --version and weir -v."`
	Completion completionCmd `cmd:"" group:"about" help:"Print the code by which a shell completes weir's commands; example: source <(weir completion bash)"`
	Man        manCmd        `cmd:"" group:"about" help:"Write the manual pages of weir and its commands; example: weir man man1"`
}

// commandGroups are the groups of the list of commands, in its order.
var commandGroups = []kong.Group{
	{Key: "measure", Title: "Compare and measure servers"},
	{Key: "serve", Title: "Serve the web"},
	{Key: "chat", Title: "Host a chat"},
	{Key: "stack", Title: "Run a network stack in user space"},
	{Key: "about", Title: "About weir"},
}

type labCmd struct {
	Run         runCmd         `cmd:"" help:"Run an experiment and write its report; example: weir lab run im --quick"`
	List        listCmd        `cmd:"" help:"List the subjects, and what each lacks on this machine."`
	Build       buildCmd       `cmd:"" help:"Build subjects."`
	Check       checkCmd       `cmd:"" help:"Test subjects against the contract that makes them comparable."`
	Measure     measureCmd     `cmd:"" help:"Measure the CPU time of a command and of everything that it starts."`
	Compare     compareCmd     `cmd:"" help:"Compare two finished runs."`
	Gate        gateCmd        `cmd:"" help:"Decide whether a version of a server is worse than another one; for continuous integration."`
	Profile     profileCmd     `cmd:"" help:"Explain by call stacks why one subject costs more CPU than another one; example: weir lab profile go-goroutine go-loop"`
	Gallery     galleryCmd     `cmd:"" help:"Collect finished runs on one offline page; example: weir lab gallery runs"`
	Agent       agentCmd       `cmd:"" help:"Offer a part of a load from this machine; example: weir lab agent --nats tls://192.0.2.1:4222 --fingerprint sha256:... --token-file token"`
	Report      reportCmd      `cmd:"" help:"Write the report of a run again."`
	Portability portabilityCmd `cmd:"" help:"Build and test the C subjects with every compiler and machine at hand."`
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, signals := watchInterrupts()
	return exitCode(ctx, signals.stop(command(ctx, args)))
}

// newParser returns the parser of weir's command line. Run methods of commands can ask for t.
func newParser(c *cli, t *terminal) (*kong.Kong, error) {
	return kong.New(c, kong.Name("weir"), kong.Help(printHelp), kong.ExplicitGroups(commandGroups), kong.Bind(t),
		kong.Description("Weir runs one network service under any concurrency model, and measures what each model costs."))
}

// command runs the command that the arguments name.
func command(ctx context.Context, args []string) error {
	var c cli
	t := newTerminal(os.Stdout, os.Stderr)
	parser, err := newParser(&c, t)
	if err != nil {
		return err
	}
	if completed, err := completeLine(parser); completed || err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		return overview(t.out, parser.Model)
	case args[0] == "--version" || args[0] == "-v":
		args = append([]string{"version"}, args[1:]...)
	}
	k, err := parser.Parse(args)
	if err != nil {
		return parseError(err)
	}
	warnOfOldFlags(t, k)
	k.BindTo(ctx, (*context.Context)(nil))
	return k.Run()
}

// parseError returns the error of a command line that kong could not parse: what is wrong, and
// which command explains more.
func parseError(err error) error {
	wrong, ok := errors.AsType[*kong.ParseError](err)
	if !ok || wrong.Context == nil {
		return usageError{err}
	}
	node := wrong.Context.Selected()
	if node == nil {
		node = wrong.Context.Model.Node
	}
	// the first choice is empty where a flag may be left out
	text := strings.Replace(err.Error(), `must be one of "",`, "must be one of ", 1)
	if name, isArgument := strings.CutPrefix(text, "unexpected argument "); isArgument && len(node.Children) > 0 {
		text = "there is no command " + node.FullPath() + " " + name
	}
	if wrong.Context.Error == nil && len(node.Children) > 0 && node.DefaultCmd == nil {
		var names []string
		for _, child := range node.Children {
			names = append(names, child.Name)
		}
		text = fmt.Sprintf("%s takes a command: %s", node.FullPath(), strings.Join(names, ", "))
	}
	return usageError{fmt.Errorf("%s (weir help%s explains it)", text, strings.TrimSuffix(" "+node.Path(), " "))}
}

// warnOfOldFlags names the flags of the command line that have a newer spelling, which their tag
// "old" holds.
func warnOfOldFlags(t *terminal, k *kong.Context) {
	for _, p := range k.Path {
		if p.Flag != nil && p.Flag.Tag.Has("old") {
			fmt.Fprintf(t.err, "weir: --%s is an old spelling, which still works: write %s\n", p.Flag.Name, p.Flag.Tag.Get("old"))
		}
	}
}
