package chat

import (
	"slices"
	"testing"
	"time"

	"weir/chat/account"
	"weir/serve"
)

// What is configured while clients are there holds from then on, and nobody loses the connection.
func TestConfigureHoldsFromThenOn(t *testing.T) {
	everyWayWith(t, Options{MOTD: "old", Flood: -1}, func(t *testing.T, s *server) {
		ann := s.user("ann")
		if kept, err := s.chat.Configure(Options{MOTD: "new", Flood: -1, UserRooms: 1, LoginOnly: true}); err != nil || len(kept) > 0 {
			t.Fatalf("Configure: %q, %v", kept, err)
		}
		ann.send("MOTD", "JOIN #a", "JOIN #b")
		ann.until("- new")
		ann.until("JOIN #a")
		ann.until(" 405 ann #b ")
		bob := s.client("bob")
		bob.send("NICK bob", "USER bob 0 * :Bob")
		bob.until("ACCOUNT_REQUIRED")
	})
}

func TestConfigureKeepsWhatCannotChange(t *testing.T) {
	began := Options{Name: "a.chat", Connections: 10, MaxRooms: 10}
	s := startServer(t, serve.Goroutine, began).run()
	for what, c := range map[string]struct {
		o    Options
		kept []string
	}{
		"nothing":      {began, nil},
		"lower":        {Options{Name: "a.chat", Connections: 5, MaxRooms: 5}, nil},
		"higher":       {Options{Name: "a.chat", Connections: 11, MaxRooms: 11}, []string{"Connections", "MaxRooms"}},
		"another name": {Options{Name: "b.chat", Network: "Other", Connections: 10, MaxRooms: 10}, []string{"Name", "Network"}},
	} {
		kept, err := s.chat.Configure(c.o)
		if err != nil || !slices.Equal(kept, c.kept) {
			t.Errorf("%s: kept %q, %v; want %q", what, kept, err, c.kept)
		}
		if o := s.chat.opts(); o.Name != "a.chat" || o.Connections > 10 || o.MaxRooms > 10 {
			t.Errorf("%s: %+v holds", what, o)
		}
	}
}

func TestConfigureWithABadValueChangesNothing(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{Alive: time.Hour}).run()
	for _, bad := range []Options{{Replay: -1}, {Registration: "sometimes"}, {Name: "nodot"}} {
		if _, err := s.chat.Configure(bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if o := s.chat.opts(); o.Alive != time.Hour || o.Registration != account.ByInvite {
		t.Errorf("%+v holds", o)
	}
}
