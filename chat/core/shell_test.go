package core

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"weir/chat/account"
	"weir/chat/environment"
	"weir/chat/internal/storage"
	"weir/chat/search"
	"weir/internal/disk/simdisk"
	"weir/internal/durable"
)

// shell calls a core without sockets, threads and clocks. Its disk is simulated, its connections
// are in memory, and its time stands still while there is anything else to do. Only one step is
// taken at a time: a job, the continuation of a task, or a call of a session.
type shell struct {
	Core
	t        testing.TB
	opened   Options // with defaults
	dir      string
	accounts *account.Store
	clock    time.Time
	random   *rand.Rand // chooses the next step; nil: the first one is next
	begun    []*Task    // whose jobs have not run
	finished []*Task    // whose jobs have run, and that have not continued
	timers   []timerAt
	conns    []*conn // open connections
	ids      int     // random texts so far
}

// timerAt is a call of the core at a time.
type timerAt struct {
	at   time.Time
	call func()
}

// tickEvery is how often Core.Tick is called.
const tickEvery = 2 * time.Second

// dataDir is the data directory on a simulated disk.
const dataDir = "/chat"

// epoch is when the time of a shell starts.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// SendAll implements environment.Fanout.
func (s *shell) SendAll(texts []environment.Outgoing) {
	for _, o := range texts {
		*o.Taken = o.Conn.Send(o.Text)
	}
}

// openShell opens a core on a disk at a time. The error is that of the disk.
func openShell(t testing.TB, o Options, now time.Time) (*shell, error) {
	return openTappedShell(t, o, now, nil)
}

// openTappedShell is openShell with a function that may wrap the environment; nil: none.
func openTappedShell(t testing.TB, o Options, now time.Time, tap func(*environment.Environment)) (*shell, error) {
	s := &shell{t: t, dir: dataDir, clock: now}
	if o.Now == nil {
		o.Now = func() time.Time { return s.clock }
	}
	if o.Disk == nil {
		o.Disk = simdisk.New(1).Process()
	}
	o.OnCommit = func(time.Duration, error) {}
	o, err := o.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s.opened = o
	if err := (durable.Files{Disk: o.Disk}).MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	files := storage.New(s.dir, o.Disk, o.OnCommit, o.Log)
	if err := files.RemoveLeftovers(); err != nil {
		return nil, err
	}
	s.accounts, err = account.Open(s.dir, account.Options{Disk: o.Disk, Registration: o.Registration, Now: o.Now, Iterations: 4096, MarkerInterval: time.Hour})
	if err != nil {
		return nil, err
	}
	env := environment.Environment{Storage: files, Accounts: s.accounts, Searcher: noSearcher{}, Fanout: s, RandomText: s.randomText}
	if tap != nil {
		tap(&env)
	}
	s.Init(o, env, s.clock)
	s.after(tickEvery, s.tick)
	return s, nil
}

// noSearcher finds nothing.
type noSearcher struct{}

func (noSearcher) Find(search.Query, search.Options) ([]search.Result, time.Duration, error) {
	return nil, 0, nil
}

func (s *shell) randomText() string {
	s.ids++
	return "random text " + strconv.Itoa(s.ids)
}

func (s *shell) after(d time.Duration, call func()) {
	s.timers = append(s.timers, timerAt{s.clock.Add(d), call})
}

// tick does what is due every tickEvery.
func (s *shell) tick() {
	s.Tick()
	s.after(tickEvery, s.tick)
}

// withLock calls f as a call of the core. A test may do so at any time.
func (s *shell) withLock(f func()) {
	s.Begin(s.opened.Now())
	f()
	s.endCall()
}

func (s *shell) endCall() {
	jobs, timers := s.End(nil)
	s.begun = append(s.begun, jobs...)
	for _, t := range timers {
		s.after(t.After, t.Call)
	}
}

// runTask runs a task of the service itself to its end, and returns the error of run, or the reason
// for which the task was stopped.
func (s *shell) runTask(run func(*Task) error) (err error) {
	ended := false
	s.withLock(func() {
		s.StartTask(OrdinaryJobs, func(t *Task) { err = run(t); ended = true }, func(reason error) { err, ended = reason, true })
	})
	s.waitFor(func() bool { return ended })
	return err
}

// step takes a step that is possible at the current time, and reports whether there was one.
func (s *shell) step() bool {
	sessions := slices.DeleteFunc(slices.Clone(s.conns), func(c *conn) bool { return !c.isReady() })
	switch i := s.choose(len(s.finished) + len(s.begun) + len(sessions)); {
	case i < 0:
		return false
	case i < len(s.finished):
		s.continueTask(i)
	case i < len(s.finished)+len(s.begun):
		s.runJob(i - len(s.finished))
	default:
		sessions[i-len(s.finished)-len(s.begun)].step()
	}
	return true
}

// choose returns the number of the next step, -1 if there is none.
func (s *shell) choose(steps int) int {
	if steps == 0 || s.random == nil {
		return min(steps, 1) - 1
	}
	return s.random.IntN(steps)
}

// runJob runs a job as a worker does.
func (s *shell) runJob(i int) {
	t := s.begun[i]
	s.begun = slices.Delete(s.begun, i, i+1)
	if panicked := runGuarded(t); panicked != nil {
		s.withLock(func() { s.StopTask(t, panicked) })
		return
	}
	s.finished = append(s.finished, t)
}

func runGuarded(t *Task) (panicked error) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	t.RunJob()
	return nil
}

func (s *shell) continueTask(i int) {
	t := s.finished[i]
	s.finished = slices.Delete(s.finished, i, i+1)
	s.withLock(func() {
		if s.ContinueOnWorker(t) {
			s.begun = append(s.begun, t)
		}
	})
}

// sleep lets the time pass until the next timer, but not beyond an end. It reports whether there
// was a timer.
func (s *shell) sleep(end time.Time) bool {
	next := -1
	for i, t := range s.timers {
		if next < 0 || t.at.Before(s.timers[next].at) {
			next = i
		}
	}
	if next < 0 || s.timers[next].at.After(end) {
		s.clock = end
		return false
	}
	t := s.timers[next]
	s.timers = slices.Delete(s.timers, next, next+1)
	s.clock = later(s.clock, t.at)
	s.withLock(t.call)
	return true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// untilIdle takes steps until none is possible at the current time.
func (s *shell) untilIdle() {
	for s.step() {
	}
}

// testTimeout is how long a test waits for an expected event, in the time of the shell.
const testTimeout = 10 * time.Minute

// waitFor waits until a condition holds.
func (s *shell) waitFor(so func() bool) {
	s.t.Helper()
	for end := s.clock.Add(testTimeout); !so(); {
		if !s.step() && !s.sleep(end) {
			s.t.Fatalf("the condition that this line waits for did not hold within %v, want it to", testTimeout)
		}
	}
}

// close stops the core as SIGTERM does. All sessions end first.
func (s *shell) close() error {
	s.untilIdle()
	for _, c := range slices.Clone(s.conns) {
		c.end(ServerStops)
	}
	s.withLock(func() { s.BeginClosing() })
	s.untilIdle()
	s.withLock(s.SaveReadMarkers)
	s.withLock(s.StopTasks)
	return errors.Join(s.CloseLogs(func() {}), s.accounts.Close())
}
