package main

import (
	"context"
	"errors"
	"fmt"

	"weir/chat/host"
)

type chatServeCmd struct {
	chatFlags

	Config string `type:"path" placeholder:"FILE" help:"A TOML file with these settings and more; flags take precedence."`
	Check  bool   `help:"Check the configuration and exit."`
}

// Help is the long part of the command's help.
func (c *chatServeCmd) Help() string {
	return `Durable before delivered: a message is on the disk before any client receives it, so that nothing that was acknowledged is lost when the server is killed. Only --data is needed. weir chat user add and weir chat invite create accounts, while the server runs or not.

When the configuration file changes, or on SIGHUP, the server reads it again, and every connection stays. An invalid file is rejected, and the running configuration stays in effect. The log names changes that take effect at the next start only, such as those of addresses.

On SIGUSR2, or by weir chat upgrade, the program at this one's path takes over without a connection being dropped.

SIGTERM and Ctrl-C stop the server: it stores what it has received, and gives slow clients 5 seconds. A second signal ends that at once.

docs/chat-config.md explains the configuration file.

Examples:

  weir chat serve --data chat                          for clients on this machine, on 127.0.0.1:6667
  weir chat serve --data chat --listen :6667           for every client that reaches this machine, in clear text
  weir chat serve --data chat --tls-self               also by TLS, on :6697, with a self-signed certificate
  weir chat serve --data chat --web 127.0.0.1:8080     also a page for browsers, at http://127.0.0.1:8080/
  weir chat serve --config weir.toml                   by a configuration file
  weir chat serve --config weir.toml --check`
}

// Run implements the command.
func (c *chatServeCmd) Run(ctx context.Context, t *terminal) error {
	source := host.Source{File: c.Config, Flags: c.flags()}
	config, err := source.Read()
	if err != nil {
		return usageError{err}
	}
	if c.Check {
		fmt.Fprintln(t.out, "the configuration is valid")
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
	defer onSecond(ctx, func() {})() // the process exits; its successor goes on
	return k.Keep(ctx, h)
}

// errNotDone is the error of a stop that hangs until a second signal. The messages that a chat has
// acknowledged are on the disk by then.
var errNotDone = errors.New("unfinished work was abandoned")
