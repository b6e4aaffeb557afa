package sample

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"weir/lab/result"
)

const (
	recordEvery = 50 * time.Millisecond  // interval of CPU readings
	censusEvery = 250 * time.Millisecond // interval of memory and thread readings, for their peaks
	termGrace   = 2 * time.Second        // between SIGTERM and SIGKILL
)

// Options configure how Measure runs a command.
type Options struct {
	Placement Placement
	Duration  time.Duration // stop it after this time; 0: when it exits
	// also read the other accounting methods, in windows of this length; 0: do not
	MethodsWindow time.Duration
}

// Usage is the cost of a command and all its descendants, from its start until its exit or the
// request to stop it.
type Usage struct {
	Method result.AccountingMethod
	CPU    time.Duration
	// what CPU misses of processes that ended unseen, with a remedy; empty if nothing
	UncountedCPU string
	Wall         time.Duration
	Points       []Point
	// the maximum of each count; context switches and waits are the last values
	Peak    Census
	Machine time.Duration // CPU of the whole machine in the same time
	Exact   bool          // Machine counts run times and not ticks
	Steal   time.Duration // taken by the hypervisor in the same time
	// CPU of the command and the children it waited for by getrusage; 0 while it runs
	Waited          time.Duration
	OtherMethods    []Reading // the other accounting methods
	ExitedByItself  bool      // the command exited before it was stopped
	KilledProcesses int       // processes that outlived the command, or SIGTERM, and were killed
	ExitError       error     // result of the command: nil for status 0, else *exec.ExitError
}

// Measure runs a command and accounts for it. No process that it starts outlives the call. If ctx
// ends, the command is stopped too, and its usage up to then is returned. An error means that it
// could not be started or counted.
func Measure(ctx context.Context, cmd *exec.Cmd, o Options) (u Usage, err error) {
	g, err := NewGroup(cmd.Path)
	if err != nil {
		return u, err
	}
	return measureIn(ctx, g, cmd, o)
}

// measureIn is Measure in a given group, which it closes.
func measureIn(ctx context.Context, g *Group, cmd *exec.Cmd, o Options) (u Usage, err error) {
	defer func() { err = errors.Join(err, g.Close()) }()
	u.Method = g.Method()
	before, err := ReadMachine()
	if err != nil {
		return u, err
	}
	if err := g.Start(cmd, o.Placement); err != nil {
		return u, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	// one result, from the waiting goroutine
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := u.watch(g, o.MethodsWindow)
	u.ExitedByItself = until(ctx, g, ended, &u.ExitError, o.Duration)
	after, machineErr := ReadMachine()
	stop()
	u.CPU, err = g.CPU()
	u.Wall, u.Machine, u.Steal, u.Exact = after.At-before.At, after.CPU-before.CPU, after.Steal-before.Steal, after.Exact
	u.UncountedCPU = g.Uncounted()
	u.KilledProcesses = terminate(g)
	_ = g.Close()
	if !u.ExitedByItself {
		u.ExitError = <-ended
	}
	u.addRusage(cmd)
	return u, errors.Join(err, machineErr)
}

// until waits for the command to exit, or for the end of the duration or of ctx. It reports whether
// the command exited by itself. With a duration, it also waits for processes that the command left
// in the background.
func until(ctx context.Context, g *Group, ended chan error, exit *error, d time.Duration) (byItself bool) {
	var timeout <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	look := time.NewTicker(recordEvery)
	defer look.Stop()
	for {
		select {
		case *exit = <-ended:
			ended <- *exit // for the next receiver
			ended, byItself = nil, true
		case <-look.C:
		case <-timeout:
			return byItself
		case <-ctx.Done():
			return byItself
		}
		if byItself {
			if pids, err := g.PIDs(); d == 0 || err != nil || len(pids) == 0 {
				return true
			}
		}
	}
}

// watch records until the returned function is called, which stores the results.
func (u *Usage) watch(g *Group, methodsWindow time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { u.Points = Record(ctx, g, recordEvery) })
	all.Go(func() { u.Peak = peaks(ctx, g) })
	if methodsWindow > 0 {
		all.Go(func() { u.OtherMethods = RecordMethods(ctx, g, methodsWindow) })
	}
	return func() { cancel(); all.Wait() }
}

// peaks takes a census periodically until ctx ends.
func peaks(ctx context.Context, g *Group) (peak Census) {
	ticker := time.NewTicker(censusEvery)
	defer ticker.Stop()
	for {
		if c, err := g.Census(); err == nil {
			peak.raise(c)
		}
		select {
		case <-ctx.Done():
			return peak
		case <-ticker.C:
		}
	}
}

func (c *Census) raise(n Census) {
	c.Processes, c.Threads = max(c.Processes, n.Processes), max(c.Threads, n.Threads)
	c.RSS, c.PeakRSS, c.PSS = max(c.RSS, n.RSS), max(c.PeakRSS, n.PeakRSS), max(c.PSS, n.PSS)
	c.Voluntary, c.Involuntary = max(c.Voluntary, n.Voluntary), max(c.Involuntary, n.Involuntary)
	c.RunQueueWait = max(c.RunQueueWait, n.RunQueueWait)
}

// addRusage adds the kernel's counts of the exited command and of the children that it waited for,
// which a census can miss. It does not use their peak memory, because a program inherits the peak
// of the process that forked it, which is this one.
func (u *Usage) addRusage(cmd *exec.Cmd) {
	ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return
	}
	u.Waited = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.Peak.raise(Census{Processes: 1, Threads: 1, Voluntary: int64(ru.Nvcsw), Involuntary: int64(ru.Nivcsw)})
}

// terminate sends SIGTERM to the remaining processes of the group, and returns how many did not
// exit.
func terminate(g *Group) (left int) {
	deadline := time.Now().Add(termGrace)
	asked := map[int]bool{}
	for {
		pids, err := g.PIDs()
		if err != nil || len(pids) == 0 {
			return 0
		}
		if time.Now().After(deadline) {
			return len(pids)
		}
		for _, pid := range pids {
			if !asked[pid] {
				_ = syscall.Kill(pid, syscall.SIGTERM)
				asked[pid] = true
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}
