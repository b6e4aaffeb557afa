package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"weir/internal/freeport"
	"weir/internal/tail"
	"weir/lab/sample"
	"weir/lab/stat/sequential"
	"weir/lab/subject"
)

const (
	startHost     = "127.0.0.1"
	startPoll     = 200 * time.Microsecond // between attempts to connect
	startTimeout  = 20 * time.Second
	startBlocks   = 40  // at most
	startupBudget = 0.2 // share of the gate's budget
)

// startups measures the start-up times of both versions, in palindromic blocks of four starts.
func (c *Config) startups(ctx context.Context, base, head *Build) (*track, error) {
	t := newTrack(metricNamed(MetricStartup), true)
	random := rand.New(rand.NewPCG(c.Seed, 1))
	began := time.Now()
	limit := time.Duration(startupBudget * float64(c.Budget))
	blocks := 0
	for n := 0; n == 0 || n < blocks && time.Since(began) < limit; n++ {
		c.progress("starting", fmt.Sprintf("%s and %s, block %d", base.Version, head.Version, n+1))
		b, err := c.startBlock(ctx, base, head, random.IntN(2) == 0)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			blocks = plannedStarts(limit, time.Since(began))
			if t.test, err = sequential.New(planOf(c.Margin, c.confidence(), max(blocks, sequential.FirstLook))); err != nil {
				return nil, err
			}
		}
		if t.add(b); t.last.Verdict != sequential.Undecided {
			break
		}
	}
	t.last = t.test.Close() // the time is over
	return t, nil
}

// plannedStarts returns how many blocks of starts fit the limit if one takes so long.
func plannedStarts(limit, took time.Duration) int {
	return min(startBlocks, int((1-reserve)*float64(limit)/float64(max(took, time.Millisecond))))
}

// startBlock starts the versions in palindromic order.
func (c *Config) startBlock(ctx context.Context, base, head *Build, baseFirst bool) (block, error) {
	order := []*Build{base, head, head, base}
	if !baseFirst {
		order = []*Build{head, base, base, head}
	}
	took := map[*Build]float64{base: 1, head: 1}
	for _, v := range order {
		d, err := startOnce(ctx, v.subject, c.Load.Workload)
		if err != nil {
			return block{}, fmt.Errorf("gate: %s: %w", v.Version, err)
		}
		took[v] *= d.Seconds()
	}
	// the geometric mean of two
	mean := func(v *Build) figures { return figures{MetricStartup: math.Sqrt(took[v])} }
	return block{base: mean(base), head: mean(head)}, nil
}

// startOnce returns the time from the start of a server to its first connection, and kills it.
func startOnce(ctx context.Context, s *subject.Subject, workload string) (took time.Duration, err error) {
	port := s.Port
	if port == 0 {
		if port, err = freeport.Choose(startHost); err != nil {
			return 0, err
		}
	}
	addr := net.JoinHostPort(startHost, strconv.Itoa(port))
	if errors.Is(freeport.Try(startHost, port), syscall.EADDRINUSE) {
		return 0, fmt.Errorf("it cannot listen at %s: the port is %w; stop that", addr, subject.ErrPortInUse)
	}
	group, err := sample.NewGroup(s.Name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, group.Close()) }()
	// a server that starts reads no file of the folder, and calls no upstream
	p := subject.Params{Host: startHost, Port: port, Workload: workload, Www: s.Dir, Upstream: startHost + ":9"}
	words := s.Command(p)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.SysProcAttr = s.Dir, &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(cmd.Environ(), s.Environ(p)...)
	last := tail.New(4096)
	cmd.Stderr = last
	cmd.WaitDelay = time.Second
	began := time.Now()
	if err := group.Start(cmd, sample.Placement{}); err != nil {
		return 0, fmt.Errorf("cannot start: %w", err)
	}
	exited := make(chan error, 1) // one result, from the waiting goroutine, which closes it
	go func() {
		defer close(exited)
		exited <- cmd.Wait()
	}()
	took, err = awaitConnection(ctx, addr, began, exited)
	_ = group.Close() // the error is that of the call at the end
	for range exited {
	}
	if err != nil && last.LastLine() != "" {
		err = fmt.Errorf("%w; its last line is %q", err, last.LastLine())
	}
	return took, err
}

// awaitConnection connects until it succeeds, and returns the time since began. It fails if the
// server has exited.
func awaitConnection(ctx context.Context, addr string, began time.Time, exited <-chan error) (time.Duration, error) {
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			took := time.Since(began)
			return took, conn.Close()
		}
		if time.Since(began) > startTimeout {
			return 0, fmt.Errorf("it accepted no connection within %v of its start", startTimeout)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case err := <-exited:
			return 0, fmt.Errorf("it exited before it accepted a connection (%v)", cmp.Or(err, errors.New("exit status 0")))
		case <-tick.C:
		}
	}
}
