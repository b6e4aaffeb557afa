package host

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestReloadTakesEffectAndDisconnectsNoClient(t *testing.T) {
	r := start(t, Config{Server: Server{MOTD: "old"}})
	ann := r.user("ann")
	c := *r.Config()
	c.Server.MOTD, c.Limits.UserRooms, c.Accounts.LoginOnly, c.Log.Level = "new", 1, true, "error"
	if kept, err := r.Reload(c); err != nil || len(kept) > 0 {
		t.Fatalf("Reload: got the keys %q kept and error %v, want none", kept, err)
	}
	ann.send("MOTD", "JOIN #a", "JOIN #b")
	ann.until("- new")
	ann.until(" 405 ann #b ")
	r.client("NICK bob", "USER bob 0 * :bob").until("ACCOUNT_REQUIRED")
	r.log.wait(t, "open") // and after it nothing but errors
}

func TestReloadReturnsTheKeysThatNeedARestart(t *testing.T) {
	r := start(t, Config{})
	c := *r.Config()
	c.Data, c.Listen, c.Server.Name, c.Limits.Connections, c.Web.Listen = "other", []string{":1"}, "other.chat", 20_000, []string{":2"}
	c.Limits.Replay = 7
	kept, err := r.Reload(c)
	slices.Sort(kept)
	if want := []string{"data", "limits.connections", "listen", "server.name", "web.listen"}; err != nil || !slices.Equal(kept, want) {
		t.Errorf("Reload: got the keys %q kept and error %v, want %q", kept, err, want)
	}
	if now := r.Config(); now.Data == "other" || now.Server.Name != "" || now.Limits.Replay != 7 {
		t.Errorf("got the configuration %+v, want the fixed keys unchanged", now)
	}
}

func TestABadConfigurationChangesNothing(t *testing.T) {
	r := start(t, Config{Server: Server{MOTD: "old"}})
	before := r.Config()
	for _, change := range []func(*Config){
		func(c *Config) { c.Limits.Replay = -1 },
		func(c *Config) { c.Server.MOTD, c.Server.MOTDFile = "", "nowhere" },
		func(c *Config) { c.Web.Origins = []string{"["} },
	} {
		c := *before
		c.Limits.UserRooms = 1
		change(&c)
		if _, err := r.Reload(c); err == nil {
			t.Errorf("Reload(%+v): got nil, want an error", c)
		}
		if r.Config() != before {
			t.Error("Reload of an invalid file: got a changed configuration, want the former one in effect")
		}
	}
}

// TestWatchReloadsAChangedFile also checks that a signal reloads the file, and that an invalid file
// is rejected with its position.
func TestWatchReloadsAChangedFile(t *testing.T) {
	source := Source{File: file(t, "data = \"d\"\nlisten = [\"127.0.0.1:0\"]\nserver.motd = \"one\"\n")}
	c, err := source.Read()
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, c)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(source.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	hangup := make(chan os.Signal, 1) // from the test -> Watch; one stands for several
	var watcher sync.WaitGroup
	watcher.Go(func() { r.Watch(ctx, source, hangup) })
	defer watcher.Wait()
	defer stop()
	ann := r.user("ann")

	write("data = \"d\"\nlisten = [\"127.0.0.1:0\"]\nserver.motd = \"number two\"\n")
	r.log.wait(t, "msg=reloaded")
	ann.send("MOTD")
	ann.until("- number two")

	write("data = \"d\"\nserver.motd = 5\n")
	r.log.wait(t, source.File+":2:15: server.motd: ")
	ann.send("MOTD")
	ann.until("- number two")

	write("data = \"d\"\nlisten = [\"127.0.0.1:1\"]\nserver.motd = \"and three\"\n")
	r.log.wait(t, "keys=listen")
	ann.send("MOTD")
	ann.until("- and three")

	n := strings.Count(r.log.String(), "msg=reloaded")
	hangup <- syscall.SIGHUP
	waitFor(t, "a signal has it read", func() bool { return strings.Count(r.log.String(), "msg=reloaded") > n })
}
