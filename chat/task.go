package chat

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
)

// task is work that takes several steps: a join, a login, a history, a deletion. Its function is
// straight-line code that runs under Service.mu, in a coroutine. It pauses in two cases:
//
//   - await gives a job to a worker pool. The job runs without the lock. It uses its own variables
//     and the disk only, and no state of the service.
//   - pause waits for an event of the service, which makes the task ready.
//
// Between two pauses no other code of the service runs. So a task checks again after a pause what
// it has found before.
type task struct {
	svc   *core
	pool  jobPool // runs its jobs
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	state taskState
	job   func() // the job that it waits for; nil: it waits for an event, or is ready
	// its job waits behind those of other tasks, even if a worker is free that ran its last one
	wantsTurn bool
	// why it is stopped; nil: it is not
	stopReason error
}

// taskState is the state of a task.
type taskState uint8

const (
	taskNew       taskState = iota // it has not started
	taskRuns                       // its function runs
	taskAwaitsJob                  // a worker pool has its job
	taskPaused                     // it waits for an event
	taskReady                      // the event has occurred: it continues before mu is released
	taskDone                       // its function has returned
)

// jobPool is a pool of workers.
type jobPool uint8

const (
	ordinaryJobs jobPool = iota
	searchJobs           // so that logins and histories do not wait for searches
	commitJobs           // of the commit tasks of conversations
	jobPools             // the number of pools
)

// errTaskStopped unwinds the function of a task that is stopped.
var errTaskStopped = errors.New("chat: a task was stopped")

// startTaskLocked starts a task. It returns when the task pauses or ends. Failed is called with the
// reason if the function panics or the task is stopped. The caller holds mu.
func (s *core) startTaskLocked(pool jobPool, run func(*task), failed func(error)) {
	t := &task{svc: s, pool: pool}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			if p := recover(); p != nil {
				failed(t.failure(p))
			}
		}()
		run(t)
	})
	s.tasks[t] = struct{}{}
	s.continueTaskLocked(t)
}

// failure returns the reason for which a task has failed: why it was stopped, or its panic.
func (t *task) failure(panicked any) error {
	if t.stopReason != nil {
		return t.stopReason
	}
	return fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
}

// continueTaskLocked runs a task until it pauses or ends. It does nothing if the task was stopped
// meanwhile: a job may end after that, and an event occur before. The caller holds mu.
func (s *core) continueTaskLocked(t *task) {
	if t.state == taskDone {
		return
	}
	taskLife.move(&t.state, taskRuns)
	t.job, t.wantsTurn = nil, false
	if _, paused := t.next(); !paused {
		s.endTaskLocked(t)
	} else if t.job != nil {
		taskLife.move(&t.state, taskAwaitsJob)
		s.effects.jobs = append(s.effects.jobs, t)
	}
}

func (s *core) endTaskLocked(t *task) {
	taskLife.move(&t.state, taskDone)
	delete(s.tasks, t)
}

// stopTaskLocked ends a task that waits, for example because its job has panicked. The caller holds
// mu.
func (s *core) stopTaskLocked(t *task, reason error) {
	if t.state != taskDone {
		t.stopReason = reason
		t.stop()
		s.endTaskLocked(t)
	}
}

// await runs a job without the lock, and returns when the job has ended.
func (t *task) await(job func()) {
	t.job = job
	t.yieldToService()
}

// awaitTurn waits for a worker, behind other tasks that wait for one.
func (t *task) awaitTurn() {
	t.wantsTurn = true
	t.await(func() {})
}

// pause waits until wakeLocked is called.
func (t *task) pause() {
	if t.stopReason == nil {
		taskLife.move(&t.state, taskPaused)
	}
	t.yieldToService()
}

// continueReadyTasksLocked continues the tasks whose event has occurred. The caller holds mu, and
// is about to release it.
func (s *core) continueReadyTasksLocked() {
	for len(s.readyTasks) > 0 {
		next := s.readyTasks[0]
		s.readyTasks = s.readyTasks[1:]
		s.continueTaskLocked(next)
	}
}

// wakeLocked lets a paused task continue before the lock is released. It does nothing if the task
// is not paused. The caller holds mu.
func (t *task) wakeLocked() {
	if t.state == taskPaused {
		taskLife.move(&t.state, taskReady)
		t.svc.readyTasks = append(t.svc.readyTasks, t)
	}
}

func (t *task) yieldToService() {
	if t.stopReason != nil || !t.yield(struct{}{}) {
		panic(errTaskStopped)
	}
}

// taskQueue holds tasks that wait for the same event.
type taskQueue []*task

// wait pauses a task until the queue is woken.
func (q *taskQueue) wait(t *task) {
	*q = append(*q, t)
	t.pause()
}

// wakeLocked wakes all tasks of the queue. The caller holds mu.
func (q *taskQueue) wakeLocked() {
	for _, t := range *q {
		t.wakeLocked()
	}
	*q = nil
}

// taskLock is a lock that a task keeps while it pauses.
type taskLock struct {
	held    bool
	waiting taskQueue
}

func (l *taskLock) lock(t *task) {
	for l.held {
		l.waiting.wait(t)
	}
	l.held = true
}

func (l *taskLock) unlock() {
	l.held = false
	l.waiting.wakeLocked()
}

// continueOnWorker continues a task whose job has ended. It reports whether the task has another job
// that the same worker runs: not if it has none, or waits for another turn.
func (s *core) continueOnWorker(t *task) (goesOn bool) {
	s.continueTaskLocked(t)
	last := len(s.effects.jobs) - 1
	if last < 0 || s.effects.jobs[last] != t || t.wantsTurn {
		return false
	}
	s.effects.jobs = s.effects.jobs[:last]
	return true
}

// runJob runs the job of a task. A worker calls it, without the lock.
func (t *task) runJob() { t.job() }
