package main

import (
	"context"
	"errors"
	"fmt"

	"weir/chat/host"
)

type chatServeCmd struct {
	chatFlags

	Config string `type:"path" placeholder:"FILE" help:"A TOML file that says all of this and more; flags win over it."`
	Check  bool   `help:"Only say whether the configuration is right, and what is wrong with it."`
}

// Help is the long part of the command's help.
func (c *chatServeCmd) Help() string {
	return `What is said is on the disk before anybody sees it: nothing that was acknowledged is lost when the server is killed. Nothing but the data
directory has to be said. Accounts are made by weir chat user add and weir chat invite, while it runs or not.

Examples:

  weir chat serve --data chat                          for clients on this machine, on 127.0.0.1:6667
  weir chat serve --data chat --listen :6667           for every client that reaches this machine, in clear text
  weir chat serve --data chat --tls-self               and by TLS, on :6697, with a certificate of its own
  weir chat serve --data chat --web 127.0.0.1:8080     and a page for browsers, at http://127.0.0.1:8080/
  weir chat serve --config weir.toml                   as a file says; docs/chat-config.md explains it
  weir chat serve --config weir.toml --check

When the file changes, or on SIGHUP, it is read again and holds from then on, and every connection stays; a wrong file is refused, and what
holds goes on to. What a change cannot reach before the next start, such as addresses, is said in the log.

SIGUSR2, or weir chat upgrade, has the program that stands at this one's path now go on instead, without a connection being dropped.

SIGTERM and Ctrl-C stop: what was said is stored first, and clients that take nothing any more are given 5 seconds.
A second signal ends that at once.`
}

// Run implements the command.
func (c *chatServeCmd) Run(ctx context.Context, t *terminal) error {
	source := host.Source{File: c.Config, Flags: c.flags()}
	config, err := source.Read()
	if err != nil {
		return usageError{err}
	}
	if c.Check {
		fmt.Fprintln(t.out, "the configuration is right")
		return nil
	}
	events := host.Events{Output: t.err}
	k, stop := keeper(source, events)
	defer stop()
	h, err := openChat(config, events)
	if wrong, ok := errors.AsType[*host.Problem](err); ok {
		return errors.New(wrong.Text)
	}
	if err != nil {
		return err
	}
	defer onSecond(ctx, func() {})() // the process ends; a program that follows it goes on
	return k.Keep(ctx, h)
}

// errNotDone is what is said when a second signal ends a stop that hangs. What a chat has
// acknowledged is on the disk all the same.
var errNotDone = errors.New("what was under way was not done")
