package streamload

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"weir/lab/internal/raw"
	"weir/lab/internal/schedule"
	"weir/lab/internal/tally"
	"weir/lab/load"
)

const (
	drainTime  = 2 * time.Second       // limit on waiting for echoes after the last send
	startDelay = 20 * time.Millisecond // from the start of the threads to the first message
	// ns; a window waits for the schedule's next period if that starts within this time
	alignLimit = 100e6
)

var errAllLost = errors.New("load: every connection was lost before the end")

// Run offers the load of c to its target and reports the outcome. It returns when the measured
// window is over and the last echo has arrived, when it receives a stop command, when every
// connection is lost, or when ctx ends. In the last two cases it returns an error together with the
// report so far. An error that Is load.ErrUsage is about c. In every case all connections are
// closed and all goroutines have ended.
//
// The order is: open all connections, start reader, sender and churn, measure, wait for the sender,
// wait for the echoes, stop churn and reader, close.
func Run(ctx context.Context, c Config, ev load.Events) (Report, error) {
	if err := c.Check(ev.Commands != nil); err != nil {
		return Report{}, err
	}
	if err := errors.Join(raw.BindCPUs(c.CPUs), raw.RaiseFileLimit(c.Connections+c.Idle)); err != nil {
		return Report{}, err
	}
	defer raw.QuietRuntime()()
	r := &run{Config: c, Events: ev}
	if err := r.connect(ctx); err != nil {
		return Report{}, err
	}
	defer closeAll(r.stream.fds)
	if err := r.start(ctx); err != nil {
		return Report{}, err
	}
	err := r.control(ctx)
	report := r.finish(ctx)
	if err == errAllLost {
		err = fmt.Errorf("%w: %s", err, report.Trouble())
	}
	return report, errors.Join(err, r.sender.err)
}

// run is a run in progress, owned by the goroutine that called Run.
type run struct {
	Config
	load.Events
	stream *stream
	sender *sender
	reader *reader
	churn  *churn
	addr   string

	senderDone, readerDone chan struct{} // closed by the goroutine that ends
	commands               <-chan load.Command
	stoppedEarly           bool // the window or the warm-up was ended by a command or by ctx
}

func (r *run) connect(ctx context.Context) error {
	s := &stream{clock: raw.NewClock(raw.Monotonic), size: r.Size, bits: r.Bits > 0, echo: r.Echo, grace: r.grace(), senders: r.Connections, window: tally.NewWindow()}
	if n := r.Connections + r.Idle; n > 0 {
		fds, addr, err := dialAll(ctx, r.Target, n)
		if err != nil {
			return err
		}
		s.fds, r.addr = fds, addr
	} else if fds, addr, err := dialAll(ctx, r.Target, 1); err != nil {
		return err
	} else {
		closeAll(fds) // with churn only: check that the server answers
		r.addr = addr
	}
	s.lost, s.sentTotals = make([]atomic.Bool, len(s.fds)), make([]atomic.Int64, r.Connections)
	s.aliveSenders.Store(int64(r.Connections))
	s.drainUntil.Store(tally.Unset)
	r.stream = s
	notify(r.Connected, s.clock.Now())
	return nil
}

func notify(f func(int64), at int64) {
	if f != nil {
		f(at)
	}
}

// start computes the schedule and starts all goroutines.
func (r *run) start(ctx context.Context) (err error) {
	s := r.stream
	s.schedule = schedule.Schedule{Start: s.clock.Now() + int64(startDelay), Pattern: r.pattern(), N: r.Connections, Period: r.period(), Seed: r.Seed}
	s.payload = newPayload(r.Size)
	if s.bits {
		s.payload = newRepeated(bitsText)
	}
	if r.reader, err = newReader(s); err != nil {
		return err
	}
	if r.sender, err = newSender(s, r.newOrder(), r.Rate*float64(r.Connections)); err != nil {
		r.reader.close()
		return err
	}
	r.senderDone, r.readerDone = make(chan struct{}), make(chan struct{})
	if r.Commands == nil {
		s.window.To.Store(s.schedule.Start + int64(r.Duration))
		s.window.From.Store(s.schedule.Start)
	}
	r.commands = r.Commands
	go func() { defer close(r.senderDone); r.sender.run() }()
	go func() { defer close(r.readerDone); r.reader.run() }()
	if r.Churn > 0 {
		r.churn = &churn{churnPlan: churnPlan{s.schedule.Start, 1e9 / r.Churn}, addr: r.addr, payload: newPayload(r.Size),
			size: r.Size, echo: r.Echo, clock: s.clock, window: s.window}
		r.churn.run(ctx)
	}
	notify(r.Sending, s.schedule.Start)
	if r.Commands == nil {
		notify(r.Measuring, s.schedule.Start)
	}
	return nil
}

func (r *run) newOrder() sendOrder {
	s := r.stream.schedule
	switch {
	case r.Connections == 0:
		return emptyOrder{}
	case r.Bits > 0:
		return newBits(s.Start, s.N, r.Bits, s.Pattern)
	}
	return messageOrder{s.Order(), r.Size}
}

// control handles commands and progress until the sender has ended.
func (r *run) control(ctx context.Context) error {
	var ticks <-chan time.Time
	if r.Every > 0 && r.Progress != nil {
		t := time.NewTicker(r.Every)
		defer t.Stop()
		ticks = t.C
	}
	done := ctx.Done()
	for {
		select {
		case <-r.senderDone:
			if r.Connections > 0 && r.stream.aliveSenders.Load() == 0 && !r.stoppedEarly {
				return errAllLost
			}
			return ctx.Err()
		case cmd, ok := <-r.commands:
			r.execute(cmd, ok)
		case <-ticks:
			r.Progress(r.progress())
		case <-done:
			done = nil
			r.halt()
		}
	}
}

// halt makes the sender stop now.
func (r *run) halt() { r.stoppedEarly = true; r.stream.stop.Store(true) }

// execute executes a command, or the end of commands.
func (r *run) execute(cmd load.Command, ok bool) {
	w := r.stream.window
	measuring := w.To.Load() != tally.Unset
	switch {
	case !ok && measuring:
		r.commands = nil
	case !ok, cmd.Measure <= 0:
		r.commands = nil
		r.halt()
	case !measuring:
		from := r.windowStart()
		w.To.Store(from + int64(cmd.Measure))
		w.From.Store(from)
		time.Sleep(time.Duration(from - r.stream.clock.Now()))
		notify(r.Measuring, from)
	}
}

// windowStart selects the start of a window: soon, and at the start of a period of the schedule, so
// that a window of whole periods contains whole bursts.
func (r *run) windowStart() int64 {
	soon := r.stream.clock.Now() + int64(2*time.Millisecond)
	if s := &r.stream.schedule; s.Period > 0 && s.Period <= alignLimit && s.Pattern != load.Poisson {
		return s.Round(soon)
	}
	return soon
}

func (r *run) progress() load.Progress {
	s := r.stream
	now, sent := s.clock.Now(), s.sent.Load()
	if r.churn != nil {
		sent += r.churn.sent.Load()
	}
	return load.Progress{Elapsed: time.Duration(max(0, now-s.schedule.Start)), Sent: sent, Echoed: s.echoed.Load(),
		Alive: int(s.aliveSenders.Load()), Lateness: time.Duration(s.maxLateness.Swap(0)), Measuring: now >= s.window.From.Load()}
}

// finish waits for the echoes and for all goroutines, and returns the report.
func (r *run) finish(ctx context.Context) Report {
	s := r.stream
	if r.sender.windowFrom != 0 {
		notify(r.Measured, r.sender.windowTo)
	}
	short, shortFails := r.endChurn()
	if r.sender.windowFrom != 0 {
		r.holdOpen(ctx)
	}
	s.drainUntil.Store(s.clock.Now() + int64(drainTime))
	if ctx.Err() != nil {
		s.stop.Store(true)
	}
	r.reader.wake()
	<-r.readerDone
	r.reader.close()
	report := r.report()
	if report.Churn = short; short != nil {
		report.WarmMessages += r.churn.warmConnections
	}
	fails := r.sender.failures
	fails.Merge(r.reader.failures)
	fails.Merge(shortFails)
	report.Details = fails.Details
	for kind, n := range fails.Kinds {
		report.Errors[kind] = n
	}
	return report
}

func (r *run) endChurn() (*ChurnReport, tally.Failures) {
	if r.churn == nil {
		return nil, tally.Failures{}
	}
	report, fails := r.churn.stop(r.sender.windowFrom, r.sender.windowTo)
	return &report, fails
}

// holdOpen keeps a steered run's connections open and silent after the window, so that the caller
// can inspect the server, until the next command or the end of commands.
func (r *run) holdOpen(ctx context.Context) {
	if r.commands == nil {
		return
	}
	select {
	case <-r.commands:
	case <-ctx.Done():
	}
}

func (r *run) report() Report {
	n := &r.sender.counts
	n.burst.end(n.spread)
	window := n.windowTo - n.windowFrom
	rep := Report{Target: r.Target, Connections: r.Connections, Idle: r.Idle, Pattern: r.pattern(), Rate: r.Rate, Size: r.Size, Bits: r.Bits, Seed: r.Seed,
		Offered: n.offered, Messages: n.messages, Bytes: n.bytes, Writes: n.writes, Behind: n.behind, Owed: n.owed, WarmMessages: n.warmMessages,
		LatenessUS: n.lateness.Percentiles(), GapUS: n.gaps.Percentiles(), SpreadUS: n.spread.Percentiles(),
		LatencyUS: r.reader.latency.Percentiles(), Echoed: r.reader.echoesInWindow, Discarded: r.reader.discarded,
		Errors: map[string]int64{}, Interrupt: r.stoppedEarly, CPUNS: n.cpuTo - n.cpuFrom, RunQueueNS: n.queueTo - n.queueFrom, WindowNS: window, StartedNS: n.windowFrom}
	if r.Bits > 0 {
		rep.Rate = r.Bits / 8 / float64(r.Size)
		rep.Messages = n.bytes / int64(r.Size)
		rep.Offered = int64(rep.Rate * float64(r.Connections) * float64(window) / 1e9)
		rep.WarmMessages = n.warmBytes / int64(r.Size)
		rep.AchievedRatio = share(n.bytes*8e9, int64(r.Bits*float64(r.Connections))*window)
	} else {
		rep.AchievedRatio = share(n.messages, n.offered)
	}
	if window > 0 {
		rep.OfferedRate = float64(rep.Offered) * 1e9 / float64(window)
	}
	return rep
}
