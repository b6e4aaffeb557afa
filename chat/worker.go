package chat

import (
	"time"

	"weir/flow"
)

// withLock calls f under mu. It reports whether f started commits. The lock is released even if f
// panics.
func (s *Service) withLock(f func()) (committed bool) {
	s.mu.Lock()
	defer func() { committed = s.unlock() }()
	f()
	return false
}

// unlock lets ready tasks continue and releases mu. Then it gives the jobs of tasks to the worker
// pools. It reports whether a job of a commit task was among them.
func (s *Service) unlock() (committed bool) {
	s.continueReadyTasksLocked()
	var few [4]*task
	jobs := append(few[:0], s.jobs...)
	s.jobs = s.jobs[:0]
	s.mu.Unlock()
	for _, t := range jobs {
		committed = committed || t.pool == commitJobs
		s.putJob(t)
	}
	return committed
}

// putJob gives the job of a task to its worker pool. Put does not block: the queues have room for
// all tasks.
func (s *Service) putJob(t *task) {
	if s.pools[t.pool].Put([]*task{t}) == 0 {
		s.stopTask(t, errStopping)
	}
}

// newPool returns a pool of so many workers, with a queue for the jobs of so many tasks.
func (s *Service) newPool(name string, workers, capacity int) (*flow.Net[*task], error) {
	return flow.New([]flow.Stage[*task]{{Name: name, Width: workers, Do: flow.Each(s.runJobs)}}, []flow.Edge{{To: name, Cap: capacity}}, s.stopTask, 0)
}

// runJobs is the stage of the worker pools. It runs the job of a task and continues the task, until
// the task has no further job or waits for another turn.
func (s *Service) runJobs(t *task, out *flow.Out[*task]) {
	for goesOn := true; goesOn; {
		t.job()
		s.mu.Lock()
		s.continueTaskLocked(t)
		goesOn = s.takeJobLocked(t)
		s.unlockOnWorker(t.pool, out)
	}
}

// takeJobLocked takes the next job of a task from the jobs for the pools, and reports whether it did:
// not if there is none, or the task waits for another turn. The caller holds mu.
func (s *Service) takeJobLocked(t *task) bool {
	last := len(s.jobs) - 1
	if last < 0 || s.jobs[last] != t || t.wantsTurn {
		return false
	}
	s.jobs = s.jobs[:last]
	return true
}

// unlockOnWorker is unlock for a worker, which puts jobs into its own pool by its Out.
func (s *Service) unlockOnWorker(own jobPool, out *flow.Out[*task]) {
	s.continueReadyTasksLocked()
	var few [4]*task
	jobs := append(few[:0], s.jobs...)
	s.jobs = s.jobs[:0]
	s.mu.Unlock()
	for _, t := range jobs {
		if t.pool == own {
			out.Put([]*task{t})
		} else {
			s.putJob(t)
		}
	}
}

// stopTask stops a task whose job has panicked or was not accepted.
func (s *Service) stopTask(t *task, reason error) {
	s.withLock(func() { s.stopTaskLocked(t, reason) })
}

// runTask runs a task of the service itself, and waits for its end. The error is that of run, or
// the reason why the task was stopped. The caller does not hold mu.
func (s *Service) runTask(run func(*task) error) error {
	// the task -> this call: its result; one value, not closed
	result := make(chan error, 1)
	s.withLock(func() {
		s.startTaskLocked(ordinaryJobs, func(t *task) { result <- run(t) }, func(reason error) { result <- reason })
	})
	return <-result
}

// maxServiceTasks is how many tasks of the service itself may have a job in the worker pool at once.
const maxServiceTasks = 64

// afterLocked calls f under mu after some time, unless the timer is stopped before.
func (s *Service) afterLocked(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { s.withLock(f) })
}
