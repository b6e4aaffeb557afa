package sample

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weir/lab/result"
)

// account is one CPU accounting method, applied to one group.
type account interface {
	method() result.AccountingMethod
	// attach is called on the locked thread that starts cmd next; detach is called on the same
	// thread afterwards
	attach(cmd *exec.Cmd) (detach func() error, err error)
	cpu() (time.Duration, error)
	pids() ([]int, error) // the living processes
	uncounted() string    // what cpu has missed, or may have missed; empty if nothing
	// kills the living processes, waits for their exit, and frees all resources; called once
	close() error
}

// Group accounts for commands and all their descendants. Its methods may be called from any
// goroutine.
type Group struct {
	name    string
	account account
	close   func() error // runs account.close once
}

type accountingMethod struct {
	name         string
	open         func(name string) (account, error)
	countsExited bool // counts processes that have exited
}

// methods lists the accounting methods, best first.
var methods = []accountingMethod{
	{"cgroup v2", newCgroupV2, true},
	{"cgroup v1", newCgroupV1, true},
	{"subreaper", newWaitTree, true},
	{"clocks", newClockTree, false},
}

// firstWorking finds, once, the first accounting method that passes a trial run. Only a trial shows
// whether a child can be created in a cgroup: it depends on permissions, the kernel's version and
// containers.
var firstWorking = sync.OnceValues(func() (int, error) {
	var refusals error
	for i, w := range methods {
		err := w.try()
		if err == nil {
			return i, nil
		}
		refusals = errors.Join(refusals, fmt.Errorf("%s: %w", w.name, err))
	}
	return 0, fmt.Errorf("no method of accounting for the CPU of a process tree works on this machine: %w", refusals)
})

// try measures a program that does nothing but costs some CPU.
func (w accountingMethod) try() error {
	g, err := newGroup("probe", w.open)
	if err != nil {
		return err
	}
	cmd := exec.Command("true")
	if err = g.Start(cmd, Placement{}); err == nil {
		err = cmd.Wait()
	}
	cpu, cpuErr := g.CPU()
	if err == nil && cpuErr == nil && cpu == 0 && w.countsExited {
		err = errors.New("it counted nothing")
	}
	return errors.Join(err, cpuErr, g.Close())
}

// NewGroup opens a group with the best accounting method that works on this machine. name is
// informative: it is part of the cgroup's name. Groups that exited labs left behind are removed,
// with the processes in them. The caller must Close the group.
func NewGroup(name string) (*Group, error) {
	best, err := firstWorking()
	if err != nil {
		return nil, err
	}
	return newGroup(name, methods[best].open)
}

func newGroup(name string, open func(string) (account, error)) (*Group, error) {
	a, err := open(groupName(name))
	if err != nil {
		return nil, err
	}
	return &Group{name: name, account: a, close: sync.OnceValue(a.close)}, nil
}

// Method describes how the group's CPU is counted.
func (g *Group) Method() result.AccountingMethod { return g.account.method() }

// CPU returns the CPU time of all processes that ever ran in the group.
func (g *Group) CPU() (time.Duration, error) { return g.account.cpu() }

// Uncounted describes what CPU has missed of processes that ended unseen, with a remedy; it is
// empty if the method misses nothing.
func (g *Group) Uncounted() string { return g.account.uncounted() }

// PIDs lists the living processes.
func (g *Group) PIDs() ([]int, error) { return g.account.pids() }

// Dir returns the group's v2 cgroup; empty for other accounting methods.
func (g *Group) Dir() string {
	if c, ok := g.account.(*cgroup); ok && c.v2 {
		return c.dir
	}
	return ""
}

// Close kills the remaining processes of the group, waits for their exit and removes the group.
// Later calls return the result of the first. The caller must still Wait for the commands that it
// started.
func (g *Group) Close() error { return g.close() }

// Start is like cmd.Start, but the child is in the group, on its cores and in its network namespace
// from its first instruction. Only the forking thread is moved, for the duration of the fork, so
// other goroutines of this process are not affected. cmd.SysProcAttr.Pdeathsig must be zero,
// because the thread that forks may end before the child.
func (g *Group) Start(cmd *exec.Cmd, pl Placement) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.SysProcAttr.Pdeathsig != 0 {
		return errors.New("sample: Pdeathsig cannot be used: the thread that starts the command may end before it")
	}
	done := make(chan error, 1) // one result, from the starting goroutine
	go func() { done <- g.startOnThread(cmd, pl) }()
	return <-done
}

// startOnThread does Start's work. It unlocks its thread only if the thread's state is restored.
// Otherwise the thread ends with the goroutine.
func (g *Group) startOnThread(cmd *exec.Cmd, pl Placement) error {
	runtime.LockOSThread()
	leave, err := pl.enter()
	if err != nil {
		return errors.Join(err, leave())
	}
	detach, err := g.account.attach(cmd)
	if err == nil {
		err = cmd.Start()
	}
	if errors.Join(detach(), leave()) == nil {
		runtime.UnlockOSThread()
	}
	return err
}

// enter moves the calling thread to the placement; leave moves it back.
func (pl Placement) enter() (leave func() error, err error) {
	var undo []func() error
	leave = func() error {
		var err error
		for _, u := range undo {
			err = errors.Join(err, u())
		}
		return err
	}
	if len(pl.CPUs) > 0 {
		u, err := enterCPUs(pl.CPUs)
		if err != nil {
			return leave, err
		}
		undo = append(undo, u)
	}
	if pl.Netns != "" {
		u, err := enterNetns(pl.Netns)
		if err != nil {
			return leave, err
		}
		undo = append(undo, u)
	}
	return leave, nil
}

func enterCPUs(cpus []int) (undo func() error, err error) {
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("reading the thread's cores: %w", err)
	}
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("placing a command on cores %v: %w (this machine offers %d cores)", cpus, err, runtime.NumCPU())
	}
	return func() error { return unix.SchedSetaffinity(0, &before) }, nil
}

func enterNetns(name string) (undo func() error, err error) {
	before, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	ns, err := os.Open(filepath.Join("/run/netns", name))
	if err == nil {
		err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		ns.Close()
	}
	if err != nil {
		before.Close()
		return nil, fmt.Errorf("entering the network namespace %q: %w", name, err)
	}
	return func() error {
		defer before.Close()
		return unix.Setns(int(before.Fd()), unix.CLONE_NEWNET)
	}, nil
}
