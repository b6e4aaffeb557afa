package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"

	"weir/lab"
	"weir/lab/gate"
	"weir/lab/subject"
	"weir/web/site/reference"
)

// completionCmd prints the code by which a shell completes weir's commands and flags. For a
// completion the shell starts this binary with COMP_LINE set, which completeLine answers.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help implements kong.HelpProvider.
func (c *completionCmd) Help() string {
	return `The shell then completes commands, flags, and the names of experiments, subjects, components and concurrency models. It works for a weir that is on the PATH.

Examples:

  source <(weir completion bash)          # this shell
  weir completion fish | source           # fish
  weir completion zsh >> ~/.zshrc         # every zsh from now on`
}

// Run prints the code on standard output.
func (c *completionCmd) Run(k *kong.Context) error {
	code := kongcompletion.Completion{Shell: c.Shell, Code: true}
	return code.Run(k)
}

// predictors complete arguments by the tag "predictor" of flags and arguments.
func predictors(app *kong.Application) map[string]complete.Predictor {
	return map[string]complete.Predictor{
		"commands":   complete.PredictFunc(func(a complete.Args) []string { return commandsAfter(app, a.Completed) }),
		"experiment": complete.PredictOr(complete.PredictSet(lab.Builtin()...), complete.PredictFiles("*.toml")),
		"subjects":   lists(subjectNames),
		"checks":     lists(checkNames),
		"patterns":   lists(func() []string { return []string{"staggered", "together", "poisson"} }),
		"workload":   complete.PredictSet(subject.Workloads...),
		"load":       complete.PredictOr(complete.PredictSet(gate.Loads()...), complete.PredictFiles("*.toml")),
		"metrics":    lists(gate.Metrics),
		"component":  complete.PredictFunc(func(complete.Args) []string { return reference.Names() }),
		"model":      complete.PredictSet("chain", "network"),
		"chatmodel":  complete.PredictSet("loop", "goroutine", "pool", "coroutine"),
		"file":       complete.PredictFiles("*"),
		"folder":     complete.PredictDirs("*"),
	}
}

// commandsAfter returns the names of the commands that may follow these words behind "help".
func commandsAfter(app *kong.Application, words []string) (names []string) {
	node := app.Node
	for _, word := range words {
		at := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word })
		if at < 0 {
			return nil
		}
		node = node.Children[at]
	}
	for _, child := range node.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	return names
}

func subjectNames() (names []string) {
	all, _ := subject.Discover(projectRoot()) // one that cannot be read has no name to complete
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// lists completes a word, or the last of a list of words with commas between them.
func lists(names func() []string) complete.Predictor {
	return complete.PredictFunc(func(a complete.Args) (all []string) {
		given := a.Last[:strings.LastIndexByte(a.Last, ',')+1]
		for _, name := range names() {
			all = append(all, given+name)
		}
		return all
	})
}

// completeLine answers a shell that asks for a completion. It reports whether one did.
func completeLine(parser *kong.Kong) (bool, error) {
	root, err := kongcompletion.Command(parser, kongcompletion.WithPredictors(predictors(parser.Model)))
	if err != nil {
		return false, err
	}
	root = completeDefaults(parser.Model.Node, root)
	root.Flags = complete.Flags{"--version": complete.PredictNothing, "-v": complete.PredictNothing}
	c := complete.New(parser.Model.Name, root)
	c.Out = parser.Stdout
	return c.Complete(), nil
}

// completeDefaults has the command of a node complete what kong accepts beside what
// kongcompletion knows: the flags and arguments of a default command, and further words of the
// last argument where that takes several.
func completeDefaults(node *kong.Node, c complete.Command) complete.Command {
	for _, child := range node.Children {
		if sub, ok := c.Sub[child.Name]; ok {
			c.Sub[child.Name] = completeDefaults(child, sub)
		}
	}
	if n := len(node.Positional); n > 0 && node.Positional[n-1].IsCumulative() {
		args := c.Args.(*kongcompletion.PositionalPredictor)
		args.Predictors = append(args.Predictors, slices.Repeat(args.Predictors[n-1:], 100)...)
	}
	if node.DefaultCmd != nil {
		sub := c.Sub[node.DefaultCmd.Name]
		c.Args = sub.Args
		c.Flags = sub.GlobalFlags
	}
	return c
}
