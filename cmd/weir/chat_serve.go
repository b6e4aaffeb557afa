package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"time"

	"weir/chat"
	"weir/chat/account"
	"weir/serve"
)

type chatServeCmd struct {
	chatData
	chatWeb

	Listen string `default:"127.0.0.1:6667" placeholder:"HOST:PORT" help:"Where to listen; :6667 is every address of this machine."`
	Way    string `name:"run" placeholder:"WAY" help:"How connections are run: loop, goroutine, pool or coroutine. Loop where there is epoll, goroutine elsewhere."`
	Loops  int    `default:"1" help:"Event loops, for loop and coroutine."`

	Name         string `default:"weir.chat" help:"The server's name."`
	Network      string `default:"Weir" help:"The network's name, as clients show it."`
	MOTD         string `name:"motd" type:"existingfile" placeholder:"FILE" help:"What those who come in are told first."`
	Registration string `default:"invite" enum:"invite,open,off" help:"Who may make an account for himself: who has an invite, everybody, or nobody."`
	LoginOnly    bool   `help:"Let only accounts in."`
	Flood        int    `default:"10" help:"Commands a second of an account or address, ten times as many at once; 0 is no limit. Guests on this machine have none."`
	Replay       int    `default:"500" help:"Lines that a client without chathistory is shown at most, of what it missed in a room."`
	Connections  int    `default:"10000" help:"Connections at once."`
}

// Help is the long part of the command's help.
func (c *chatServeCmd) Help() string {
	return `What is said is on the disk before anybody sees it: nothing that was acknowledged is lost when the server is killed. Nothing has to be
configured. Accounts are made by weir chat user add and weir chat invite, while it runs or not.

Examples:

  weir chat serve --data chat                          for clients on this machine, on 127.0.0.1:6667
  weir chat serve --data chat --listen :6667           for every client that reaches this machine, in clear text
  weir chat serve --data chat --web 127.0.0.1:8080     and a page for browsers, at http://127.0.0.1:8080/
  weir chat serve --data chat --run goroutine

SIGTERM and Ctrl-C stop: what was said is stored first, and clients that take nothing any more are given 5 seconds.

Exit status: 0 stopped, 1 it couldn't be done, 2 bad flags, 130 interrupted before it began.`
}

// chatDrain is how long what was said before a stop may take to be stored.
const chatDrain = 5 * time.Second

// Run implements the command.
func (c *chatServeCmd) Run(ctx context.Context, t *terminal) error {
	way, err := c.way()
	if err != nil {
		return usageError{err}
	}
	options, err := c.options(t)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", c.Listen, err)
	}
	service, err := chat.Open(c.Data, options)
	if err != nil {
		l.Close()
		return err
	}
	endWeb, err := c.begin(ctx, t, service)
	if err != nil {
		return errors.Join(err, l.Close(), service.Close())
	}
	fmt.Fprintf(t.err, "weir: chat on %s, run by %s, kept in %s\n", l.Addr(), way, c.Data)
	err = serve.Run(ctx, way, l, service.Sessions(), serve.Options{Loops: c.Loops, Width: c.Connections, Queue: chat.Outbox, Drain: chatDrain,
		Panicked: func(p serve.PanicError) { t.errorLine(fmt.Sprintf("%v\n%s", &p, p.Stack)) }})
	if errors.Is(err, serve.ErrDeadline) {
		err = nil // a client that took nothing any more
	}
	return errors.Join(err, endWeb(), service.Close())
}

func (c *chatServeCmd) way() (serve.Way, error) {
	if c.Way == "" && runtime.GOOS == "linux" {
		return serve.Loop, nil
	}
	return serve.ParseWay(first(c.Way, serve.Goroutine.String()))
}

func (c *chatServeCmd) options(t *terminal) (chat.Options, error) {
	o := chat.Options{Name: c.Name, Network: c.Network, Registration: account.Registration(c.Registration), LoginOnly: c.LoginOnly,
		Flood: c.Flood, Replay: c.Replay, Connections: c.Connections, Log: slog.New(slog.NewTextHandler(t.err, nil))}
	if c.Registration == "invite" {
		o.Registration = account.ByInvite
	}
	if c.Flood == 0 {
		o.Flood = -1
	}
	if c.MOTD != "" {
		text, err := os.ReadFile(c.MOTD)
		if err != nil {
			return o, err
		}
		o.MOTD = string(text)
	}
	return o, nil
}
