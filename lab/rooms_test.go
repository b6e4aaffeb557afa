package lab

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/lab/internal/rooms"
	"weir/lab/report"
	"weir/lab/result"
	"weir/lab/workload"
	"weir/lab/workload/chat"
)

// serveRooms is a chat server, or one with a fault. The test binary runs it with the arguments
// "rooms ADDR FAULT".
func serveRooms(addr, fault string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	term := make(chan os.Signal, 1) // from the runtime
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		l.Close()
	}()
	(&rooms.Server{Fault: fault, History: 100}).Serve(l)
	os.Exit(0)
}

const smallChat = `
name = "mine"
workload = "chat"
subjects = ["chat-ergo"]
connections = [8]
[[load]]
`

func TestInvalidLoadOfMembersIsRejectedWithARemedy(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"requests' keys", smallChat + "gzip = true\n", `no setting "load.gzip"`},
		{"streams' keys", smallChat + "bits = 1e6\n", `no setting "load.bits"`},
		{"members' keys with messages", strings.Replace(smallChat, "chat\"", "sink\"", 1) + "rate = 1\nsize = 10\nreplay = 5\n", `no setting "load.replay"`},
		{"members' keys with requests", strings.Replace(smallChat, "\"chat\"", "\"files\"", 1) + "replay = 2\n", `no setting "load.replay"`},
		{"connections of a load with messages", strings.Replace(smallChat, "\"chat\"", "\"sink\"", 1) + "rate = 1\nsize = 10\nconnections = [2]\n", "set connections for the experiment"},
		{"patterns", "patterns = [\"poisson\"]\n" + smallChat + "rate = 1\n", "patterns: requests, deliveries and operations come as their loads say"},
		{"no members", strings.Replace(smallChat, "[8]", "[0]", 1) + "rate = 1\n", "connections: requests, rooms and stacks need one at least"},
		{"too many members", smallChat + "connections = [5000]\n", "with 5000 members: 5000 members are out of range"},
		{"connections twice", smallChat + "connections = [2, 2]\n", "2 is given twice"},
		{"a short text", smallChat + "size = 10\n", "a text of 10 bytes is out of range"},
		{"a replay with a rate", smallChat + "replay = 10\nrate = 1\n", "a replay has no rate"},
	} {
		e, err := ParseExperiment("mine.toml", []byte(test.text))
		if err == nil {
			err = e.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", test.name, err, test.want)
		}
	}
}

// TestRunOfRoomsReportsLostMessages runs a small form of the experiment chat, with a server that
// loses messages.
func TestRunOfRoomsReportsLostMessages(t *testing.T) {
	b := newBench(t)
	no := false
	b.experiment.Workload, b.experiment.Patterns, b.experiment.AAControl, b.experiment.TimeLimit = "chat", nil, &no, workload.Duration(1)
	named := func(name string, rate float64, subjects ...string) workload.Common {
		return workload.Common{Name: name, Rate: rate, Subjects: subjects}
	}
	loop, replay, quiet, idle := named("closed loop", 0, "rooms-sound"), named("replay", 0, "rooms-sound", "rooms-hangs-up"), named("quiet", 20, "rooms-sound"), named("idle", 20, "rooms-sound")
	loop.Connections, replay.Connections, quiet.Connections, idle.Connections = []int{2, 5}, []int{1}, []int{2}, []int{2}
	quiet.Cold, idle.Cold = true, true
	b.experiment.Loads = []workload.Load{
		&chat.Load{Common: named("talk", 50, "rooms-sound", "rooms-loses")},
		&chat.Load{Common: loop},
		&chat.Load{Common: replay, Replay: 500},
		&chat.Load{Common: quiet},
		&chat.Load{Common: idle, Idle: 50},
	}
	for name, fault := range map[string]string{"rooms-sound": "", "rooms-loses": "loses", "rooms-hangs-up": "hangs up"} {
		b.experiment.Subjects = append(b.experiment.Subjects, name)
		dir := filepath.Join(b.options.Root, "subjects", name)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "subject.toml"), fmt.Appendf(nil, "name = %q\nlanguage = \"Go\"\nparadigm = \"goroutine per connection\"\nabout = \"Rooms.\"\n"+
			"durability = \"lost\"\nworkloads = [\"chat\"]\nrun = [%q, \"rooms\", \"{addr}\", %q]\nwarm_messages = 10\n", name, os.Args[0], fault), 0o644))
	}
	b.experiment.Duration = workload.Duration(300 * time.Millisecond)
	found, err := b.run(t.Context(), nil)
	must(t, err)
	if len(found.Trials) != 2*2+2*5+2 {
		t.Errorf("got %d trials, want %d", len(found.Trials), 2*2+2*5+2)
	}
	for _, trial := range found.Trials {
		why := strings.Join(trial.FailedBecause, "; ")
		switch {
		case trial.Subject == "rooms-hangs-up": // this ends its trial, but not the run
			if !strings.Contains(why, "broke off") && !strings.Contains(why, "could not join") && !strings.Contains(why, "lost before the end") && !strings.Contains(why, "took no message") {
				t.Errorf("%s: the server closed its connections: got failures %q, want one that says so", trial.Load, why)
			}
		case trial.Subject == "rooms-loses":
			if trial.Messages > 100 && !strings.Contains(why, "load error: lost") {
				t.Errorf("some of %d deliveries under %s were lost: got failures %q, want one of a load error: lost", trial.Messages, trial.Load, why)
			}
		case why != "" || trial.Messages > 0 && trial.CPUUSPerMessage <= 0 || (trial.Load == "talk" || trial.Load == "quiet") != (trial.Pattern != result.Closed) && trial.Load != "idle":
			t.Errorf("%s: got %d deliveries at %v us, pattern %s, failures %q; want CPU time, the load's pattern and no failures", trial.Load, trial.Messages, trial.CPUUSPerMessage, trial.Pattern, why)
		case trial.Load == "talk" && (trial.OfferedRate < 590 || trial.OfferedRate > 610):
			t.Errorf("got %v deliveries/s offered, want 600", trial.OfferedRate)
		}
	}
	must(t, report.Write(b.options.Out, found, ReportKind(found.Plan.Workload)))
	page, err := os.ReadFile(filepath.Join(b.options.Out, "report.md"))
	must(t, err)
	for _, want := range []string{"Acknowledged messages when killed", "CPU per delivery"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("got a report without %q, want it", want)
		}
	}
}
