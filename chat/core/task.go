package core

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
)

// Task is work that takes several steps: a join, a login, a history, a deletion. Its function is
// straight-line code that runs in a coroutine, during calls of the core. It pauses in two cases:
//
//   - await gives a job to a worker pool. The job uses its own variables and the environment only,
//     and no state of the core.
//   - pause waits for an event of the core, which makes the task ready.
//
// Between two pauses no other code of the core runs. So a task checks again after a pause what
// it has found before.
type Task struct {
	svc   *Core
	Pool  JobPool // runs its jobs
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
	taskReady                      // the event has occurred: it continues before the call ends
	taskDone                       // its function has returned
)

// JobPool is a pool of workers.
type JobPool uint8

const (
	OrdinaryJobs JobPool = iota
	SearchJobs           // so that logins and histories do not wait for searches
	CommitJobs           // of the commit tasks of conversations
	JobPools             // the number of pools
)

// errTaskStopped unwinds the function of a task that is stopped.
var errTaskStopped = errors.New("chat: a task was stopped")

// StartTask starts a task. It returns when the task pauses or ends. Failed is called with the
// reason if the function panics or the task is stopped.
func (s *Core) StartTask(pool JobPool, run func(*Task), failed func(error)) {
	t := &Task{svc: s, Pool: pool}
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
	s.continueTask(t)
}

// failure returns the reason for which a task has failed: why it was stopped, or its panic.
func (t *Task) failure(panicked any) error {
	if t.stopReason != nil {
		return t.stopReason
	}
	return fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
}

// continueTask runs a task until it pauses or ends. It does nothing if the task was stopped
// meanwhile: a job may end after that, and an event occur before.
func (s *Core) continueTask(t *Task) {
	if t.state == taskDone {
		return
	}
	taskLife.move(&t.state, taskRuns)
	t.job, t.wantsTurn = nil, false
	paused := false
	defer func() { // also after a panic of failed
		if !paused {
			s.endTask(t)
		}
	}()
	if _, paused = t.next(); paused && t.job != nil {
		taskLife.move(&t.state, taskAwaitsJob)
		s.effects.jobs = append(s.effects.jobs, t)
	}
}

func (s *Core) endTask(t *Task) {
	taskLife.move(&t.state, taskDone)
	delete(s.tasks, t)
}

// StopTask ends a task that waits, for example because its job has panicked.
func (s *Core) StopTask(t *Task, reason error) {
	if t.state != taskDone {
		t.stopReason = reason
		t.stop()
		s.endTask(t)
	}
}

// await runs a job without the lock, and returns when the job has ended.
func (t *Task) await(job func()) {
	t.job = job
	t.yieldToService()
}

// awaitTurn waits for a worker, behind other tasks that wait for one.
func (t *Task) awaitTurn() {
	t.wantsTurn = true
	t.await(func() {})
}

// pause waits until wake is called.
func (t *Task) pause() {
	if t.stopReason == nil {
		taskLife.move(&t.state, taskPaused)
	}
	t.yieldToService()
}

// continueReadyTasks continues the tasks whose event has occurred.
func (s *Core) continueReadyTasks() {
	for len(s.readyTasks) > 0 {
		next := s.readyTasks[0]
		s.readyTasks = s.readyTasks[1:]
		s.continueTask(next)
	}
}

// wake lets a paused task continue before the call ends. It does nothing if the task is not
// paused.
func (t *Task) wake() {
	if t.state == taskPaused {
		taskLife.move(&t.state, taskReady)
		t.svc.readyTasks = append(t.svc.readyTasks, t)
	}
}

func (t *Task) yieldToService() {
	if t.stopReason != nil || !t.yield(struct{}{}) {
		panic(errTaskStopped)
	}
}

// taskQueue holds tasks that wait for the same event.
type taskQueue []*Task

// wait pauses a task until the queue is woken.
func (q *taskQueue) wait(t *Task) {
	*q = append(*q, t)
	t.pause()
}

// wake wakes all tasks of the queue.
func (q *taskQueue) wake() {
	for _, t := range *q {
		t.wake()
	}
	*q = nil
}

// taskLock is a lock that a task keeps while it pauses. Tasks get it in the order in which they
// ask.
type taskLock struct {
	held    bool
	waiting taskQueue
	next    *Task // task that has been given the lock and has not continued yet; nil: none
}

func (l *taskLock) lock(t *Task) {
	if !l.held {
		l.held = true
		return
	}
	l.waiting = append(l.waiting, t)
	for l.next != t {
		t.pause()
	}
	l.next = nil
}

// unlock gives the lock to the task that has waited longest. It continues no other, because
// thousands may wait.
func (l *taskLock) unlock() {
	for len(l.waiting) > 0 {
		next := l.waiting[0]
		l.waiting[0], l.waiting = nil, l.waiting[1:]
		if next.state != taskDone { // it was not stopped
			l.next = next
			next.wake()
			return
		}
	}
	l.held = false
}

// ContinueOnWorker continues a task whose job has ended. It reports whether the task has another
// job that the same worker runs: not if it has none, or waits for another turn.
func (s *Core) ContinueOnWorker(t *Task) (goesOn bool) {
	s.continueTask(t)
	last := len(s.effects.jobs) - 1
	if last < 0 || s.effects.jobs[last] != t || t.wantsTurn {
		return false
	}
	s.effects.jobs = s.effects.jobs[:last]
	return true
}

// RunJob runs the job of a task. A worker calls it, without the lock.
func (t *Task) RunJob() { t.job() }
