package core

import "testing"

// A server restart lets thousands of clients open rooms at once. Each release of the lock continues
// one task: with all of them, the work would grow with the square of their number.
func TestATaskLockContinuesOneTaskAtATime(t *testing.T) {
	const tasks = 1000
	s := &Core{tasks: map[*Task]struct{}{}}
	var order []int
	for i := range tasks {
		s.StartTask(OrdinaryJobs, func(t *Task) {
			s.opening.lock(t)
			defer s.opening.unlock()
			t.await(func() {})
			order = append(order, i)
		}, func(reason error) { t.Errorf("task %d: got %v, want no failure", i, reason) })
	}
	jobs, _ := s.End(nil)
	most := 0
	for len(jobs) > 0 {
		most = max(most, len(s.readyTasks))
		s.ContinueOnWorker(jobs[0])
		most = max(most, len(s.readyTasks))
		jobs, _ = s.End(jobs[1:])
	}
	if len(order) != tasks || most > 1 {
		t.Errorf("got %d of %d tasks run and up to %d continued by a release, want all and 1", len(order), tasks, most)
	}
	for i, got := range order {
		if got != i {
			t.Fatalf("got task %d at place %d, want the order in which they asked", got, i)
		}
	}
}
