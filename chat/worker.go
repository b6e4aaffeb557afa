package chat

import (
	"time"

	"weir/flow"
)

// newPool returns a pool of so many workers, with a queue for the jobs of so many tasks.
func (s *Service) newPool(name string, workers, capacity int) (*flow.Net[*task], error) {
	return flow.New([]flow.Stage[*task]{{Name: name, Width: workers, Do: flow.Each(s.runJob)}}, []flow.Edge{{To: name, Cap: capacity}}, s.stopTask, 0)
}

// runJob is the stage of the worker pools. It runs the job of a task and continues the task.
func (s *Service) runJob(t *task, _ *flow.Out[*task]) {
	t.job()
	s.withLock(func() { s.continueTaskLocked(t) })
}

// stopTask stops a task whose job has panicked or was not accepted.
func (s *Service) stopTask(t *task, reason error) {
	s.withLock(func() { s.stopTaskLocked(t, reason) })
}

// putJobs gives the jobs of tasks to the worker pools. Put does not block: the queues have room for
// all tasks.
func (s *Service) putJobs(tasks []*task) {
	for _, t := range tasks {
		pool := s.workers
		if t.pool == searchJobs {
			pool = s.searchWorkers
		}
		if pool.Put([]*task{t}) == 0 {
			s.stopTask(t, errStopping)
		}
	}
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

// maxServiceTasks is how many tasks of the service itself may have a job in the worker pool at
// once.
const maxServiceTasks = 64

// afterLocked calls f under mu after some time, unless the timer is stopped before.
func (s *Service) afterLocked(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { s.withLock(f) })
}
