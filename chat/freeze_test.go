package chat

import (
	"context"
	"errors"
	"testing"

	"weir/chat/core"
	"weir/serve"
)

// Sessions that have been handed over would not be notified of the change, and its log line could
// be sent twice.
func TestAFreezeRefusesAdministrativeChanges(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	ann := s.user("ann")
	ann.send("JOIN #r", "TOPIC #r :as it was")
	ann.until(" TOPIC #r ")
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	if err := s.chat.Freeze(ctx); err != nil {
		t.Fatal(err)
	}
	topic := "another"
	change := func() error { return s.chat.ChangeRoom("#r", RoomChange{Topic: &topic}) }
	if err := change(); !errors.Is(err, core.ErrUpgrading) {
		t.Errorf("ChangeRoom in a freeze: got %v, want ErrUpgrading", err)
	}
	if err := s.chat.DeleteRoom("#r"); !errors.Is(err, core.ErrUpgrading) {
		t.Errorf("DeleteRoom in a freeze: got %v, want ErrUpgrading", err)
	}
	s.chat.Thaw()
	if err := change(); err != nil {
		t.Errorf("ChangeRoom after the freeze: got %v, want nil", err)
	}
	ann.until("TOPIC #r :another")
}
