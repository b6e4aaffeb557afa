package main

import (
	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"
)

// completionCmd prints what a shell needs to complete weir's commands and flags. When the shell
// then asks for a completion, it starts this binary with COMP_LINE set, and kongcompletion.Register
// in run answers.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help implements kong.HelpProvider.
func (c *completionCmd) Help() string {
	return `Examples:

    source <(weir completion bash)          # this shell
    weir completion fish | source           # fish
    weir completion zsh >> ~/.zshrc         # every zsh from now on

Completion works for a weir that is on the PATH.`
}

// Run prints the code on standard output.
func (c *completionCmd) Run(k *kong.Context) error {
	code := kongcompletion.Completion{Shell: c.Shell, Code: true}
	return code.Run(k)
}
