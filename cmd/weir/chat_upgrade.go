package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"weir/chat"
	"weir/chat/host"
	"weir/chat/upgrade"
)

type chatUpgradeCmd struct {
	chatData

	Timeout time.Duration `default:"2m" help:"How long to wait for the outcome."`
	JSON    bool          `name:"json" help:"Write the outcome as JSON."`
}

// Help is the long part of the command's help.
func (c *chatUpgradeCmd) Help() string {
	return `Has the server that runs be followed by the program that stands at its path now, started with the arguments that it was started with, and
says how that went. Clients in clear text, those behind a proxy too, keep their connections and notice nothing. Clients by TLS and those of
the web page are told to connect again; they miss nothing. When the new program cannot take over, the server goes on as if nothing was.
SIGUSR2 asks for the same. Under systemd the service is of Type=notify, and ExecReload= may be this command. Linux only.

Example:

  weir chat upgrade --data chat`
}

// lookEvery is how often the outcome is looked for.
const lookEvery = 20 * time.Millisecond

// Run implements the command.
func (c *chatUpgradeCmd) Run(ctx context.Context, t *terminal) error {
	pid, err := upgrade.Server(c.Data)
	if err != nil {
		return err
	}
	before, _ := upgrade.Last(c.Data) // one that cannot be read is none
	if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
		return fmt.Errorf("the server of %s, process %d, cannot be asked: %w: start it, or be its user", c.Data, pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	o, err := c.outcome(ctx, pid, before)
	if err != nil {
		return err
	}
	if c.JSON {
		err = t.json(o)
	} else if o.Error == "" {
		fmt.Fprintf(t.out, "process %d serves now: %d connections kept, %d closed and told to connect again\n", o.PID, o.Kept, o.Closed)
	}
	if o.Error != "" {
		err = errors.Join(err, errors.New("not upgraded, the server goes on: "+o.Error))
	}
	return err
}

// outcome waits for an outcome other than the one before.
func (c *chatUpgradeCmd) outcome(ctx context.Context, pid int, before upgrade.Outcome) (upgrade.Outcome, error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		alive := syscall.Kill(pid, 0) != syscall.ESRCH // asked first: a server tells before it ends
		o, err := upgrade.Last(c.Data)
		if err != nil || !o.At.Equal(before.At) {
			return o, err
		}
		if !alive {
			return o, fmt.Errorf("the server, process %d, ended without a word: its log may say why", pid)
		}
		select {
		case <-ctx.Done():
			return o, errors.New("the server says nothing: it is of a version that cannot be upgraded, or very busy; its log may say more")
		case <-tick.C:
		}
	}
}

// heirVariable tells a program that it was started to take over: its value is the process that has
// started it.
const heirVariable = "WEIR_HEIR_OF"

// predecessor is the server that has started this process to take over, nil if none has.
func predecessor() (*upgrade.Predecessor, error) {
	by := os.Getenv(heirVariable)
	os.Unsetenv(heirVariable) // for the programs that this one starts
	if by != strconv.Itoa(os.Getppid()) {
		return nil, nil
	}
	return upgrade.Inherited()
}

// heir is the command that starts this program, as it stands at its path now, to take over.
func heir() (*exec.Cmd, error) {
	if os.Getenv("SYSTEMD_EXEC_PID") == strconv.Itoa(os.Getpid()) && os.Getenv("NOTIFY_SOCKET") == "" {
		return nil, errors.New("systemd ends a service with its first process: have the unit say Type=notify, restart it once, and then upgrade")
	}
	path, err := exec.LookPath(os.Args[0]) // anew: it may be a link that leads elsewhere now
	if err != nil {
		path, err = os.Executable()
	}
	if err != nil {
		return nil, fmt.Errorf("where this program is: %w", err)
	}
	cmd := exec.Command(path, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), heirVariable+"="+strconv.Itoa(os.Getpid()))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd, nil
}

// openChat opens a host, or has it take over from the server that has started this process.
func openChat(c host.Config, e host.Events) (*host.Host, error) {
	old, err := predecessor()
	if err != nil {
		return nil, err
	}
	if old == nil {
		h, err := host.Open(c, e)
		if err == nil {
			err = upgrade.Notify(os.Getenv("NOTIFY_SOCKET"), "READY=1")
		}
		return h, err
	}
	from, err := old.Receive(chat.HandoverVersion)
	if err != nil {
		return nil, err
	}
	h, err := host.Resume(c, e, from)
	if err != nil {
		return nil, errors.Join(err, old.Refuse(err))
	}
	if err := old.Taken(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// keeper keeps a host running, through reloads and upgrades. It is made before the host, so that no
// signal ends the process.
func keeper(source host.Source, e host.Events) (k *host.Keeper, stop func()) {
	// from the runtime; one signal stands for several meanwhile
	hangup, usr2 := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	signal.Notify(usr2, syscall.SIGUSR2)
	k = &host.Keeper{Source: source, Events: e, Hangup: hangup, Upgrade: usr2, Command: heir,
		Notify: func(state string) { _ = upgrade.Notify(os.Getenv("NOTIFY_SOCKET"), state) }}
	return k, func() { signal.Stop(hangup); signal.Stop(usr2) }
}
