package chat

import (
	"context"
	"testing"

	"weir/chat/core"
	"weir/serve"
)

// Tasks that have become ready continue at the end of a call. A bug in one must not leave the
// service locked for ever.
func TestAPanicAtTheEndOfACallReleasesTheLock(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	ann := s.user("ann")
	ann.send("JOIN #r", "TOPIC #r :as it was")
	ann.until(" TOPIC #r ")
	failed := make(chan struct{})
	topic := "another"
	s.chat.withLock(func() {
		s.chat.core.StartTask(core.OrdinaryJobs, func(x *core.Task) {
			_ = s.chat.core.ChangeRoom(x, "#r", RoomChange{Topic: &topic})
			panic("planted in a task")
		}, func(error) {
			close(failed)
			panic("planted in the handling of its failure")
		})
	})
	<-failed
	ann.send("PRIVMSG #r :hello", "PING alive")
	ann.until(" PONG ")
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := s.chat.Freeze(ctx); err != nil {
		t.Errorf("Freeze after the panic: got %v, want nil, so that the server can be upgraded", err)
	}
	s.chat.Thaw()
}
