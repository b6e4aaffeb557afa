package stackload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir/internal/tail"
	"weir/lab/internal/oneloop"
	"weir/lab/load"
)

// processes sends pings by the system's ping, as the paper did. There is a process for each flow,
// and its own clock times it. The latencies therefore include the scheduling of the processes,
// which is the purpose of this load.
type processes struct {
	Config
	*oneloop.State
	program string
	// ns; readers -> run; 256 so that a burst does not block a reader; closed when all have ended
	answers chan int64
	counts
}

func newProcesses(c Config, s *oneloop.State) (work, error) {
	program, err := exec.LookPath("ping")
	if err != nil {
		return nil, errors.New("load: there is no ping program on this machine: install it (Debian: iputils-ping), or leave --processes out")
	}
	return &processes{Config: c, State: s, program: program, answers: make(chan int64, 256), counts: newCounts()}, nil
}

func (p *processes) found() *counts { return &p.counts }

func (p *processes) close() {}

// offer implements work.
func (p *processes) offer(ctx context.Context, ev load.Events) error {
	return p.Control(ctx, ev, p.run)
}

// run starts the processes, counts their replies until the window is over, and stops them.
func (p *processes) run() {
	defer close(p.Ended)
	runtime.LockOSThread() // the thread's wait for a core is measured
	defer runtime.UnlockOSThread()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p.Connected.Store(p.Clock.Now())
	var running sync.WaitGroup
	var mu sync.Mutex // guards lost, children and fails while processes end
	for range p.Config.Processes {
		running.Go(func() { // until the process ends, at the latest when ctx is done
			lost, cpu, err := p.runPing(ctx)
			mu.Lock()
			defer mu.Unlock()
			p.lost += lost
			p.childrenCPU += int64(cpu)
			if err != nil {
				p.Failed.Add(1)
				p.Failures.Add(kindPing, 1, "%v", err)
			}
		})
	}
	go func() { running.Wait(); close(p.answers) }() // ends with the last process
	p.Begin(p.Clock.Now(), p.Duration)
	close(p.Ready)
	p.countReplies()
	p.Shut(p.Clock.Now())
	close(p.Over)
	stop()
	for range p.answers { //nolint:revive // until all have ended; these are after the window
	}
}

// countReplies counts replies until the window is over.
func (p *processes) countReplies() {
	for !p.Stop.Load() {
		now := p.Clock.Now()
		p.Open(now)
		if now >= p.Window.To.Load() {
			return
		}
		timer := time.NewTimer(time.Duration(p.Until(now+oneloop.Nap) - now))
		select {
		case took, ok := <-p.answers:
			if !ok {
				return
			}
			p.answered(took)
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (p *processes) answered(took int64) {
	p.Done.Add(1)
	switch now := p.Clock.Now(); {
	case p.Window.Holds(now):
		p.Messages++
		p.Offered++
		p.Latency.Record(took)
	case now < p.Window.From.Load():
		p.WarmMessages++
	}
}

// runPing runs a ping process until ctx is done. It returns its number of lost packets and its CPU
// time.
func (p *processes) runPing(ctx context.Context) (lost int64, cpu time.Duration, err error) {
	interval := strconv.FormatFloat(float64(p.Config.Processes)/p.Rate, 'f', 3, 64)
	cmd := exec.CommandContext(ctx, p.program, "-n", "-i", interval, "-s", strconv.Itoa(p.Size), "-W", strconv.Itoa(int(max(1, p.Timeout.Seconds()))), p.Address)
	// it then prints its statistics
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * time.Second
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said := tail.New(1 << 10)
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, 0, fmt.Errorf("can't run %s: %w", p.program, err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if took, ok := pingTime(lines.Text()); ok {
			p.answers <- took
		} else if n, ok := pingLoss(lines.Text()); ok {
			lost = n
		}
	}
	cmd.Wait() //nolint:errcheck // its state has the exit status
	cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if ctx.Err() != nil {
		return lost, cpu, nil
	}
	return lost, cpu, fmt.Errorf("ping ended by itself: %v: %s", cmd.ProcessState, strings.TrimSpace(said.String()))
}

// pingTime parses the round trip in ns of a line such as "64 bytes from 10.77.0.2: icmp_seq=1
// ttl=64 time=0.074 ms".
func pingTime(line string) (int64, bool) {
	_, after, found := strings.Cut(line, " time=")
	number, unit, _ := strings.Cut(after, " ")
	ms, err := strconv.ParseFloat(number, 64)
	if !found || err != nil || !strings.HasPrefix(unit, "ms") || !(ms >= 0 && ms < 1e9) {
		return 0, false
	}
	return int64(ms * 1e6), true
}

// pingLoss parses the number of unanswered packets of a line such as "3 packets transmitted, 3
// received, 0% packet loss, time 2003ms".
func pingLoss(line string) (int64, bool) {
	sent, after, found := strings.Cut(line, " packets transmitted, ")
	received, _, _ := strings.Cut(after, " ")
	n, err := strconv.ParseInt(sent, 10, 64)
	m, err2 := strconv.ParseInt(received, 10, 64)
	if !found || err != nil || err2 != nil {
		return 0, false
	}
	return max(0, n-m), true
}
