package core

import (
	"errors"
	"log/slog"
	"testing"
)

// newTestCore returns a core without an environment, for tasks alone.
func newTestCore() *Core {
	return &Core{tasks: map[*Task]struct{}{}, fixed: Options{Log: slog.New(slog.DiscardHandler)}}
}

// start starts a task and returns it with the reason of its failure, which is nil until it fails.
func (s *Core) start(run func(*Task)) (t *Task, failure *error) {
	failure = new(error)
	s.StartTask(OrdinaryJobs, func(now *Task) { t = now; run(now) }, func(reason error) { *failure = reason })
	return t, failure
}

// A service that stops ends all its tasks in one call. The end of one may release a lock for which
// another one waits, which is then ready and ended, too.
func TestATaskThatIsStoppedWhileReadyDoesNotContinue(t *testing.T) {
	s := newTestCore()
	holder, first := s.start(func(x *Task) {
		s.opening.lock(x)
		defer s.opening.unlock()
		x.await(func() {})
	})
	continued := false
	waiter, second := s.start(func(x *Task) {
		s.opening.lock(x)
		defer s.opening.unlock()
		continued = true
	})
	s.StopTask(holder, ErrStopping)
	if waiter.state != taskReady {
		t.Fatalf("got the state %d of the waiting task, want it ready", waiter.state)
	}
	s.StopTask(waiter, ErrStopping)
	s.continueReadyTasks()
	if continued || len(s.tasks) != 0 || !errors.Is(*first, ErrStopping) || !errors.Is(*second, ErrStopping) {
		t.Errorf("got a task that continued %v, %d tasks left, and failures %v and %v; want none, 0, and %v", continued, len(s.tasks), *first, *second, ErrStopping)
	}
}

// A disk may finish a job long after the service has given it up.
func TestAJobThatEndsAfterItsTaskDoesNothing(t *testing.T) {
	s := newTestCore()
	x, _ := s.start(func(x *Task) {
		x.await(func() {})
		t.Error("the task continued after its stop, want it ended")
	})
	s.StopTask(x, ErrStopping)
	s.continueTask(x)
	if x.state != taskDone || len(s.tasks) != 0 {
		t.Errorf("got the state %d and %d tasks, want it done and none", x.state, len(s.tasks))
	}
}

// Each task that closes idle conversations waits for the lock of opening, which may be held for
// long. No more than one waits.
func TestOneTaskAtATimeClosesIdleConversations(t *testing.T) {
	s := newTestCore()
	s.opening.held = true
	for range 3 {
		s.startClosingIdle()
	}
	if len(s.tasks) != 1 {
		t.Errorf("got %d tasks that wait to close idle conversations, want 1", len(s.tasks))
	}
	for x := range s.tasks {
		s.StopTask(x, ErrStopping)
	}
}
