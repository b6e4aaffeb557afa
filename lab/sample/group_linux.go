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

// account is one way to keep a group's books.
type account interface {
	ruler() result.Ruler
	// attach is called on the locked thread that starts cmd next; detach, on the same thread when
	// it was started.
	attach(cmd *exec.Cmd) (detach func() error, err error)
	cpu() (time.Duration, error)
	pids() ([]int, error) // the living
	uncounted() string    // what cpu has missed, or may have; empty where nothing is
	// kills the living, waits until they are gone, frees everything; called once
	close() error
}

// Group accounts for commands and everything they start. Its methods may be called from any
// goroutine.
type Group struct {
	name    string
	account account
	close   func() error // once
}

type way struct {
	name   string
	open   func(name string) (account, error)
	exited bool // counts what has exited
}

// ways lists the rulers, best first.
var ways = []way{
	{"cgroup v2", newCgroupV2, true},
	{"cgroup v1", newCgroupV1, true},
	{"subreaper", newWaitTree, true},
	{"clocks", newClockTree, false},
}

// works finds, once, the first ruler that passes a trial run. Only running something shows that a
// child can be born into a cgroup: permissions, the kernel's age and containers all have a say.
var works = sync.OnceValues(func() (int, error) {
	var refusals error
	for i, w := range ways {
		err := w.try()
		if err == nil {
			return i, nil
		}
		refusals = errors.Join(refusals, fmt.Errorf("%s: %w", w.name, err))
	}
	return 0, fmt.Errorf("no way to account for a process tree works here: %w", refusals)
})

// try measures a program that does nothing and costs something.
func (w way) try() error {
	g, err := newGroup("probe", w.open)
	if err != nil {
		return err
	}
	cmd := exec.Command("true")
	if err = g.Start(cmd, Placement{}); err == nil {
		err = cmd.Wait()
	}
	cpu, cpuErr := g.CPU()
	if err == nil && cpuErr == nil && cpu == 0 && w.exited {
		err = errors.New("it counted nothing")
	}
	return errors.Join(err, cpuErr, g.Close())
}

// NewGroup opens a group with the best ruler that works here. name is for people: it appears in the
// cgroup's name. Groups that dead labs left behind are removed, with what still runs in them. The
// caller must Close it.
func NewGroup(name string) (*Group, error) {
	best, err := works()
	if err != nil {
		return nil, err
	}
	return newGroup(name, ways[best].open)
}

func newGroup(name string, open func(string) (account, error)) (*Group, error) {
	a, err := open(groupName(name))
	if err != nil {
		return nil, err
	}
	return &Group{name: name, account: a, close: sync.OnceValue(a.close)}, nil
}

// Ruler says how the group's CPU is counted.
func (g *Group) Ruler() result.Ruler { return g.account.ruler() }

// CPU is the time on a core of everything that ever ran in the group.
func (g *Group) CPU() (time.Duration, error) { return g.account.cpu() }

// Uncounted says what CPU has missed of processes that ended unseen, in a phrase with what to do
// about it; empty where the ruler misses nothing.
func (g *Group) Uncounted() string { return g.account.uncounted() }

// PIDs lists the living processes.
func (g *Group) PIDs() ([]int, error) { return g.account.pids() }

// Dir is the group's v2 cgroup, or empty if its ruler is another.
func (g *Group) Dir() string {
	if c, ok := g.account.(*cgroup); ok && c.v2 {
		return c.dir
	}
	return ""
}

// Close kills whatever is left in the group, waits until it is gone and removes every trace of it.
// Later calls return what the first returned. The caller still has to Wait for the commands that it
// started.
func (g *Group) Close() error { return g.close() }

// Start is like cmd.Start, but the child is in the group, on its cores and in its network namespace
// from its first instruction. Only the forking thread is moved, for as long as the fork takes, so
// other goroutines of this process notice nothing. cmd.SysProcAttr.Pdeathsig must be zero: the
// thread that forks may end before the child does.
func (g *Group) Start(cmd *exec.Cmd, pl Placement) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.SysProcAttr.Pdeathsig != 0 {
		return errors.New("sample: Pdeathsig can't be used: the thread that starts the command may end before it")
	}
	done := make(chan error, 1) // from the starting goroutine, which ends then; one result
	go func() { done <- g.startOnThread(cmd, pl) }()
	return <-done
}

// startOnThread does Start's work. It returns with its thread unlocked only if the thread is as it
// was; else the thread ends together with the goroutine.
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

// enter moves the calling thread to where the placement says; leave moves it back.
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
