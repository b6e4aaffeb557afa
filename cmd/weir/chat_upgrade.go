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

	Timeout time.Duration `default:"2m" help:"Longest wait for the outcome."`
	JSON    bool          `name:"json" help:"Write the outcome as JSON."`
}

// Help is the long part of the command's help.
func (c *chatUpgradeCmd) Help() string {
	return `The running server starts the program at its path with its own arguments, hands over to it, and exits. This command reports the outcome. Clients in clear text, also those behind a proxy, keep their connections and notice nothing. Clients by TLS and those of the web page are asked to reconnect, and miss nothing. If the new program cannot take over, the old one goes on.

SIGUSR2 does the same. Under systemd, use Type=notify; ExecReload= may be this command. Linux only.

Example:

  weir chat upgrade --data chat`
}

// lookEvery is the interval of the polls for the outcome.
const lookEvery = 20 * time.Millisecond

// Run implements the command.
func (c *chatUpgradeCmd) Run(ctx context.Context, t *terminal) error {
	pid, err := upgrade.ServerPID(c.Data)
	if err != nil {
		return err
	}
	before, _ := upgrade.ReadOutcome(c.Data) // an unreadable outcome counts as none
	if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
		return fmt.Errorf("cannot signal the server of %s, process %d: %w: start the server, or run this command as its user", c.Data, pid, err)
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
		fmt.Fprintf(t.out, "process %d serves now: %d connections kept, %d closed with a request to reconnect\n", o.PID, o.Kept, o.Closed)
	}
	if o.Error != "" {
		err = errors.Join(err, errors.New("not upgraded; the old process goes on: "+o.Error))
	}
	return err
}

// outcome waits until there is another outcome than the one before.
func (c *chatUpgradeCmd) outcome(ctx context.Context, pid int, before upgrade.Outcome) (upgrade.Outcome, error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		// before the outcome is read: a server writes it before it exits
		alive := syscall.Kill(pid, 0) != syscall.ESRCH
		o, err := upgrade.ReadOutcome(c.Data)
		if err != nil || !o.At.Equal(before.At) {
			return o, err
		}
		if !alive {
			return o, fmt.Errorf("the server, process %d, exited without an outcome: see its log", pid)
		}
		select {
		case <-ctx.Done():
			return o, errors.New("the server did not answer: its version cannot be upgraded, or it is very busy; see its log")
		case <-tick.C:
		}
	}
}

// heirVariable is the environment variable of a program that was started to take over. Its value is
// the ID of the process that started it.
const heirVariable = "WEIR_HEIR_OF"

// predecessor returns the server that started this process to take over, and nil without one.
func predecessor() (*upgrade.Predecessor, error) {
	by := os.Getenv(heirVariable)
	os.Unsetenv(heirVariable) // for the programs that this one starts
	if by != strconv.Itoa(os.Getppid()) {
		return nil, nil
	}
	return upgrade.Inherited()
}

// heir returns the command that starts the program at this one's path to take over.
func heir() (*exec.Cmd, error) {
	if os.Getenv("SYSTEMD_EXEC_PID") == strconv.Itoa(os.Getpid()) && os.Getenv("NOTIFY_SOCKET") == "" {
		return nil, errors.New("systemd stops a service when its first process exits: set Type=notify in the unit, restart the service once, then upgrade")
	}
	path, err := exec.LookPath(os.Args[0]) // again: a link may lead elsewhere by now
	if err != nil {
		path, err = os.Executable()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find the path of this program: %w", err)
	}
	cmd := exec.Command(path, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), heirVariable+"="+strconv.Itoa(os.Getpid()))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd, nil
}

// openChat opens a host, or takes over from the server that started this process.
func openChat(c host.Config, e host.Events) (*host.Host, error) {
	old, err := predecessor()
	if err != nil {
		return nil, err
	}
	if old == nil {
		h, err := host.Open(c, e)
		if err == nil {
			err = upgrade.NotifyServiceManager(os.Getenv("NOTIFY_SOCKET"), "READY=1")
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
	if err := old.Confirm(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// keeper returns what runs a host through reloads and upgrades. It handles signals from now on, so
// that none ends the process while the host opens.
func keeper(source host.Source, e host.Events) (k *host.Keeper, stop func()) {
	// from the runtime; one signal stands for several meanwhile
	hangup, usr2 := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	signal.Notify(usr2, syscall.SIGUSR2)
	k = &host.Keeper{Source: source, Events: e, Hangup: hangup, Upgrade: usr2, Command: heir,
		Notify: func(state string) { _ = upgrade.NotifyServiceManager(os.Getenv("NOTIFY_SOCKET"), state) }}
	return k, func() { signal.Stop(hangup); signal.Stop(usr2) }
}
