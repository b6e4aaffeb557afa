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
	recordEvery = 50 * time.Millisecond  // readings of the CPU
	censusEvery = 250 * time.Millisecond // looks at memory and threads, for their peaks
	grace       = 2 * time.Second        // between SIGTERM and SIGKILL
)

// Options say how Measure runs a command.
type Options struct {
	Placement Placement
	Duration  time.Duration // end it after this time; 0: when it ends by itself
	Rulers    time.Duration // also read the other rulers, in windows of this length; 0: don't
}

// Usage is what a command and everything it started used, from its start until it had ended by
// itself or was to end.
type Usage struct {
	Ruler result.Ruler
	CPU   time.Duration
	// what CPU does not hold of processes that ended unseen, and what to do about it; else empty
	Missed  string
	Wall    time.Duration
	Points  []Point
	Peak    Census        // the highest of each count seen; switches and waits are the last seen
	Machine time.Duration // CPU of the whole machine meanwhile
	Exact   bool          // Machine counts run times and not ticks
	Steal   time.Duration // taken by the hypervisor meanwhile
	// what getrusage says of the command and the children it waited for; 0 while it runs
	Waited   time.Duration
	Others   []Reading // the other rulers
	ByItself bool      // it ended before it was to
	Left     int       // processes that outlived it, or SIGTERM, and were killed
	Exit     error     // how it ended: nil for status 0, else *exec.ExitError
}

// Measure runs a command and accounts for it. Nothing that it starts outlives the call. If ctx
// ends, the command is ended too, and what it used until then is returned. An error says that it
// couldn't be started or counted.
func Measure(ctx context.Context, cmd *exec.Cmd, o Options) (u Usage, err error) {
	g, err := NewGroup(cmd.Path)
	if err != nil {
		return u, err
	}
	return measureIn(ctx, g, cmd, o)
}

// measureIn is Measure with a group of its own, which it closes.
func measureIn(ctx context.Context, g *Group, cmd *exec.Cmd, o Options) (u Usage, err error) {
	defer func() { err = errors.Join(err, g.Close()) }()
	u.Ruler = g.Ruler()
	before, err := ReadMachine()
	if err != nil {
		return u, err
	}
	if err := g.Start(cmd, o.Placement); err != nil {
		return u, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	// from the waiting goroutine, which ends then; how the command ended
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := u.watch(g, o.Rulers)
	u.ByItself = until(ctx, g, ended, &u.Exit, o.Duration)
	after, machineErr := ReadMachine()
	stop()
	u.CPU, err = g.CPU()
	u.Wall, u.Machine, u.Steal, u.Exact = after.At-before.At, after.CPU-before.CPU, after.Steal-before.Steal, after.Exact
	u.Missed = g.Uncounted()
	u.Left = terminate(g)
	_ = g.Close()
	if !u.ByItself {
		u.Exit = <-ended
	}
	u.addRusage(cmd)
	return u, errors.Join(err, machineErr)
}

// until waits for the command to end, or for the time or ctx to run out. With a duration, a command
// that goes to the background is followed there.
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
			ended <- *exit // for whoever asks next
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

// watch records until the returned function is called, which stores what was seen.
func (u *Usage) watch(g *Group, rulers time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { u.Points = Record(ctx, g, recordEvery) })
	all.Go(func() { u.Peak = peaks(ctx, g) })
	if rulers > 0 {
		all.Go(func() { u.Others = RecordRulers(ctx, g, rulers) })
	}
	return func() { cancel(); all.Wait() }
}

// peaks takes a census again and again until ctx is done.
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

// addRusage adds what the kernel kept of the ended command and of the children that it waited for;
// a census can miss them. Not their peak memory: the kernel lets a program inherit that of the
// process that forked it, which is ours.
func (u *Usage) addRusage(cmd *exec.Cmd) {
	ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return
	}
	u.Waited = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.Peak.raise(Census{Processes: 1, Threads: 1, Voluntary: int64(ru.Nvcsw), Involuntary: int64(ru.Nivcsw)})
}

// terminate asks what is left in the group to end, and returns how many processes did not.
func terminate(g *Group) (left int) {
	deadline := time.Now().Add(grace)
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
