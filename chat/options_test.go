package chat

import (
	"slices"
	"testing"
	"time"

	"weir/chat/account"
	"weir/serve"
)

// New options apply to connected clients, and no client is disconnected.
func TestConfigureAppliesToConnectedClients(t *testing.T) {
	everyWayWith(t, Options{MOTD: "old", CommandsPerSecond: -1}, func(t *testing.T, s *server) {
		ann := s.user("ann")
		if kept, err := s.chat.Configure(Options{MOTD: "new", CommandsPerSecond: -1, MaxRoomsPerUser: 1, LoginOnly: true}); err != nil || len(kept) > 0 {
			t.Fatalf("Configure kept %q: %v; want nothing kept", kept, err)
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
	began := Options{Name: "a.chat", MaxConnections: 10, MaxRooms: 10}
	s := startServer(t, serve.Goroutine, began).run()
	for what, c := range map[string]struct {
		o    Options
		kept []string
	}{
		"nothing":      {began, nil},
		"lower":        {Options{Name: "a.chat", MaxConnections: 5, MaxRooms: 5}, nil},
		"higher":       {Options{Name: "a.chat", MaxConnections: 11, MaxRooms: 11}, []string{"MaxConnections", "MaxRooms"}},
		"another name": {Options{Name: "b.chat", Network: "Other", MaxConnections: 10, MaxRooms: 10}, []string{"Name", "Network"}},
	} {
		kept, err := s.chat.Configure(c.o)
		if err != nil || !slices.Equal(kept, c.kept) {
			t.Errorf("Configure, %s: got the kept options %q and error %v, want %q kept", what, kept, err, c.kept)
		}
		if o := s.chat.core.Options(); o.Name != "a.chat" || o.MaxConnections > 10 || o.MaxRooms > 10 {
			t.Errorf("%s: got options %+v, want those of Open", what, o)
		}
	}
}

func TestConfigureWithABadValueChangesNothing(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{PingAfter: time.Hour}).run()
	for _, bad := range []Options{{MaxReplay: -1}, {Registration: "sometimes"}, {Name: "nodot"}} {
		if _, err := s.chat.Configure(bad); err == nil {
			t.Errorf("Configure with %+v: got nil, want an error", bad)
		}
	}
	if o := s.chat.core.Options(); o.PingAfter != time.Hour || o.Registration != account.RegistrationByInvite {
		t.Errorf("got options %+v, want the former ones", o)
	}
}

// Options are replaced while many goroutines read them, under the race detector. Every client sees
// only values of some configuration.
func TestConfigureDuringTraffic(t *testing.T) {
	s := startServer(t, testWays()[0], Options{CommandsPerSecond: -1, MOTD: "0"}).run()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := s.chat.Configure(Options{CommandsPerSecond: -1 + i%2*100_000, MOTD: string(rune('0' + i%10)), MaxReplay: 1 + i%50, Registration: account.Registration([]string{"", "open", "off"}[i%3])}); err != nil {
				t.Error(err)
			}
		}
	}()
	for i := range 4 {
		c := s.user(string(rune('a'+i))+"x", "draft/account-registration")
		for range 20 {
			c.send("MOTD", "JOIN #a", "PRIVMSG #a :hello", "CAP LS 302", "PART #a")
		}
		c.sync()
	}
	close(stop)
	<-stopped
}

func TestCapNotifyReportsChangedCapabilities(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{Registration: account.RegistrationOpen}).run()
	new, old := s.client("new"), s.user("old")
	new.send("CAP LS 302", "NICK new", "USER new 0 * :New", "CAP END")
	new.until(" 221 ")
	o := s.o
	o.Registration, o.STS = account.RegistrationOff, &STS{Port: 6697, Duration: time.Hour}
	for _, want := range [][]string{{"CAP new DEL :draft/account-registration", "CAP new NEW :sts=port=6697"}, {"CAP new DEL :sts", "CAP new NEW :draft/account-registration=before-connect,custom-account-name"}} {
		if _, err := s.chat.Configure(o); err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if got, _ := new.line(); got != ":weir.chat "+line {
				t.Errorf("received %q, want %q", got, line)
			}
		}
		o = s.o
	}
	if lines := old.sync(); len(lines) > 0 {
		t.Errorf("a client without cap-notify received %q, want nothing", lines)
	}
}
