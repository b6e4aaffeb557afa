package chat

import (
	"runtime"
	"time"

	"weir/chat/core"
	"weir/flow"
)

// withLock calls f under mu, as a call of the core. It reports whether f started commits. The lock
// is released even if f panics.
func (s *Service) withLock(f func()) (committed bool) {
	s.mu.Lock()
	defer func() { committed = s.unlock() }()
	s.core.Begin(s.opened.Now())
	f()
	return false
}

// unlock ends a call of the core: ready tasks continue, mu is released, and the effects of the call
// are performed. It reports whether a job of a commit task was among them.
func (s *Service) unlock() (committed bool) { return s.unlockAndPut(s.putJob) }

// unlockAndPut is unlock with a function that gives the job of a task to its worker pool. It
// reports whether a job of a commit task was among the effects.
func (s *Service) unlockAndPut(put func(*core.Task)) (committed bool) {
	var few [4]*core.Task
	jobs, timers := s.endCall(few[:0])
	for _, t := range jobs {
		committed = committed || t.Pool == core.CommitJobs
		put(t)
	}
	s.startTimers(timers)
	return committed
}

// endCall ends a call of the core and releases mu, even if a task panics in a way that its failure
// function does not handle. The effects of that call are then those of the next one.
func (s *Service) endCall(few []*core.Task) ([]*core.Task, []core.Timer) {
	defer s.mu.Unlock()
	return s.core.End(few)
}

// putJob gives the job of a task to its worker pool. The queues have room for all tasks of
// sessions and conversations. Put waits only if administrators have more than maxServiceTasks tasks
// at once.
func (s *Service) putJob(t *core.Task) {
	if s.pools[t.Pool].Put([]*core.Task{t}) == 0 {
		s.stopTask(t, core.ErrStopping)
	}
}

func (s *Service) startTimers(timers []core.Timer) {
	for _, t := range timers {
		time.AfterFunc(t.After, func() {
			if s.withLock(t.Call) {
				// Yield to the goroutine that commits: otherwise the runtime's monitor, which
				// checks a thread in fsync every 70 us, wakes five times as often.
				runtime.Gosched()
			}
		})
	}
}

// newPool returns a pool of so many workers, with a queue for the jobs of so many tasks.
func (s *Service) newPool(name string, workers, capacity int) (*flow.Net[*core.Task], error) {
	return flow.New([]flow.Stage[*core.Task]{{Name: name, Width: workers, Do: flow.Each(s.runJobs)}}, []flow.Edge{{To: name, Cap: capacity}}, s.stopTask, 0)
}

// runJobs is the stage of the worker pools. It runs the job of a task and continues the task, until
// the task has no further job or waits for another turn.
func (s *Service) runJobs(t *core.Task, out *flow.Out[*core.Task]) {
	for goesOn := true; goesOn; {
		t.RunJob()
		goesOn = s.finishJob(t, out)
	}
}

// finishJob continues a task whose job has ended. It reports whether the worker goes on with
// the next job of the task.
func (s *Service) finishJob(t *core.Task, out *flow.Out[*core.Task]) (goesOn bool) {
	s.mu.Lock()
	defer s.unlockAndPut(func(other *core.Task) {
		if other.Pool == t.Pool { // a stage puts into its own net by its Out
			out.Put([]*core.Task{other})
		} else {
			s.putJob(other)
		}
	})
	s.core.Begin(s.opened.Now())
	return s.core.ContinueOnWorker(t)
}

// stopTask stops a task whose job has panicked or was not accepted.
func (s *Service) stopTask(t *core.Task, reason error) {
	s.withLock(func() { s.core.StopTask(t, reason) })
}

// runTask runs a task of the service itself, and waits for its end. The error is that of run, or
// the reason why the task was stopped. The caller does not hold mu.
func (s *Service) runTask(run func(*core.Task) error) error {
	// the task -> this call: its result; one value, not closed
	result := make(chan error, 1)
	s.withLock(func() {
		s.core.StartTask(core.OrdinaryJobs, func(t *core.Task) { result <- run(t) }, func(reason error) { result <- reason })
	})
	return <-result
}

// maxServiceTasks is how many tasks of the service itself may have a job in the worker pool at
// once.
const maxServiceTasks = 64
