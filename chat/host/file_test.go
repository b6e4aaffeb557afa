package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// file writes a configuration and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weir.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestErrorsOfAFileHaveTheirPosition(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                            "data: the data directory is missing",
		"data =":                                                      ":1:",
		"data = \"d\"\nfoo":                                           ":2:",
		"data = \"d\"\ncolour = 1":                                    ":2:1: the key colour is unknown: remove it, or write one of data, listen,",
		"data = \"d\"\n[limits]\n  room = 5":                          ":3:3: the key limits.room is unknown: remove it, or write one of connections,",
		"data = \"d\"\n[colours]\nred = 1":                            "the key colours",
		"data = 5":                                                    ":1:8: data: ",
		"data = \"d\"\nlimits.rooms = 70000":                          ":2:1: limits.rooms: 70000 is not in the range 1 to 65536",
		"data = \"d\"\n[limits]\nflood = -1":                          ":3:1: limits.flood: -1 is not",
		"data = \"d\"\n[limits]\nalive = \"30x\"":                     ":3:9: limits.alive: \"30x\" is not a duration",
		"data = \"d\"\n[limits]\nalive = 30":                          ":3:1: limits.alive: 30ns is not in the range 1s to 1d: write a time with its unit, such as \"1s\"",
		"data = \"d\"\n[limits]\nalive = \"2d\"":                      ":3:1: limits.alive: 48h0m0s is not in the range 1s to 1d",
		"data = \"d\"\nlisten = [\"6667\"]":                           ":2:1: listen: \"6667\" is not an address: write HOST:PORT",
		"data = \"d\"\nlisten = [\":70000\"]":                         ":2:1: listen: \":70000\" has no port",
		"data = \"d\"\nlisten = [\":67\", \":67\"]":                   ":2:1: listen: \":67\" is listed twice",
		"data = \"d\"\nrun = \"prefork\"":                             ":2:1: run: prefork spreads connections over processes, and the rooms of a chat are in one: write loop, goroutine, pool or coroutine",
		"data = \"d\"\nloops = 2000":                                  ":2:1: loops: 2000 is not in the range 1 to 1024",
		"data = \"d\"\ndrain = \"1h\"":                                ":2:1: drain: ",
		"data = \"d\"\n[server]\nname = \"chat\"":                     ":3:1: server.name: \"chat\" has no dot",
		"data = \"d\"\n[server]\nnetwork = \"a b\"":                   ":3:1: server.network: \"a b\" is not one word",
		"data = \"d\"\n[server]\nmotd_file = \"no\"":                  ":3:1: server.motd_file: open ",
		"data = \"d\"\nserver.motd = \"a\"\nserver.motd_file = \"b\"": ":3:1: server.motd_file: motd is set, too",
		"data = \"d\"\n[accounts]\nregistration=\"x\"":                ":3:1: accounts.registration: \"x\" is unknown: write one of invite, open, off",
		"data = \"d\"\nretention.room_bytes = 5":                      ":2:1: retention.room_bytes: 5 bytes are less than 64 KiB",
		"data = \"d\"\n[retention]\ndirect_age = \"1s\"":              ":3:1: retention.direct_age: 1s is not in the range 1m to 36500d",
		"data = \"d\"\n[web]\norigins = [\"a\", \"[\"]":               ":3:1: web.origins: \"[\" is not a pattern",
		"data = \"d\"\n[web]\nlisten = [\"x\"]":                       ":3:1: web.listen: \"x\" is not an address",
		"data = \"d\"\n[metrics]\nlisten = \"x\"":                     ":3:1: metrics.listen: \"x\" is not an address",
		"data = \"d\"\n[log]\nformat = \"xml\"\nlevel=\"\"":           ":3:1: log.format: \"xml\" is unknown",
		"data = \"d\"\nlog.level = \"all\"":                           ":2:1: log.level: \"all\" is unknown",
	} {
		path := file(t, text)
		_, err := Source{File: path}.Read()
		if err == nil || !strings.Contains(err.Error(), want) || want[0] == ':' && !strings.HasPrefix(err.Error(), path+":") {
			t.Errorf("%q:\n  %v\nwant %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got an error of several lines, want one: %v", text, err)
		}
	}
}

func TestAFileSetsEveryKey(t *testing.T) {
	path := file(t, `data = "chat"
listen = [":6667", "[::1]:6668"]
[server]
motd_file = "motd.txt"
[limits]
flood = 0
alive = "5m"
[retention]
room_age = "90d"
room_bytes = "1GB"
`)
	dir := filepath.Dir(path)
	if err := os.WriteFile(filepath.Join(dir, "motd.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Source{File: path}.Read()
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.options()
	if err != nil {
		t.Fatal(err)
	}
	if o.MOTD != "hello\n" || o.CommandsPerSecond != -1 || o.PingAfter != 5*time.Minute {
		t.Errorf("got the options %+v, want those of the file", o)
	}
	if c.Data != filepath.Join(dir, "chat") || len(c.Listen) != 2 || c.Retention.RoomAge.Std() != 90*24*time.Hour || c.Retention.RoomBytes != 1e9 {
		t.Errorf("got the configuration %+v, want that of the file", c)
	}
}

func TestFlagsWinOverTheFile(t *testing.T) {
	path := file(t, "data = \"d\"\nserver.name = \"file.chat\"\nserver.network = \"File\"\n")
	name := func(s string) []Flag {
		return []Flag{{"--name", "server.name", func(c *Config) { c.Server.Name = s }}}
	}
	c, err := Source{File: path, Flags: name("flag.chat")}.Read()
	if err != nil || c.Server.Name != "flag.chat" || c.Server.Network != "File" {
		t.Errorf("got %+v, %v; want the values of the flags", c.Server, err)
	}
	_, err = Source{File: path, Flags: name("flag")}.Read()
	if err == nil || !strings.HasPrefix(err.Error(), "--name: \"flag\" has no dot") {
		t.Errorf("got %v, want an error that names the flag", err)
	}
}

func TestAMissingFileIsAnError(t *testing.T) {
	_, err := Source{File: filepath.Join(t.TempDir(), "no.toml")}.Read()
	if err == nil || !strings.Contains(err.Error(), "no.toml: no such file") {
		t.Errorf("Read of a missing file: got %v, want an error with its path", err)
	}
}

// No text makes the reader panic, and what it takes, it takes again.
func FuzzFile(f *testing.F) {
	f.Add("data = \"d\"\nlimits.rooms = 5\n[web]\nlisten = [\":1\"]\n")
	f.Add("[limits]\nflood = 0\nalive = \"1s\"\n[[limits]]\n")
	f.Add("a.b.c = {d = 1}\n[x.\"y\"]\n")
	f.Fuzz(func(t *testing.T, text string) {
		var c Config
		if err := parse([]byte(text), &c); err != nil {
			return
		}
		err := Source{}.locate(c.Check(), []byte(text))
		if again := (Source{}).locate(c.Check(), []byte(text)); err != nil && again.Error() != err.Error() {
			t.Errorf("got error %v and then %v, want the same twice", err, again)
		}
	})
}

// TestTheModelHasAnOldSpelling requires that files with the key run keep their meaning, and that a
// file with both keys is rejected.
func TestTheModelHasAnOldSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"model = \"pool\"":                    "",
		"run = \"pool\"":                      "",
		"run = \"pool\"\nmodel = \"pool\"":    ":2:1: run: it is the old spelling of model",
		"run = \"prefork\"":                   ":2:1: run: prefork spreads connections over processes",
		"model = \"prefork\"":                 ":2:1: model: prefork spreads connections over processes",
		"[tls]\nself = true\nrun = \"other\"": ":4:1: tls.run: \"other\" is unknown",
	} {
		c, err := Source{File: file(t, "data = \"d\"\n"+text)}.Read()
		if want == "" && (err != nil || c.Model != "pool" || c.Run != "") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got model %q, run %q and %v, want %q", text, c.Model, c.Run, err, want)
		}
	}
}
