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
		{"requests' keys", smallChat + "gzip = true\n", "leave the others out"},
		{"streams' keys", smallChat + "bits = 1e6\n", "leave the others out"},
		{"members' keys with messages", strings.Replace(smallChat, "chat\"", "sink\"", 1) + "rate = 1\nsize = 10\nreplay = 5\n", "are for the workload chat"},
		{"members' keys with requests", strings.Replace(smallChat, "\"chat\"", "\"files\"", 1) + "replay = 2\n", "are for the workload chat"},
		{"connections of a load with messages", strings.Replace(smallChat, "\"chat\"", "\"sink\"", 1) + "rate = 1\nsize = 10\nconnections = [2]\n", "are for the workloads page, files, proxy, chat and stack"},
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

// TestRatesOfMembersArePassedInTotal: rates are per member in an experiment, and in total on the
// command line.
func TestRatesOfMembersArePassedInTotal(t *testing.T) {
	for _, test := range []struct {
		load Load
		want string
	}{
		{Load{Rate: 7.8125, Size: 80}, "chat --steer --members 64 --size 80 --idle 0 --rate 500 127.0.0.1:80"},
		{Load{Size: 80, Idle: 5, Caps: "server-time"}, "chat --steer --members 64 --size 80 --idle 5 --caps server-time 127.0.0.1:80"},
		{Load{Size: 80, Replay: 100}, "chat --steer --members 64 --size 80 --idle 0 --replay 100 127.0.0.1:80"},
	} {
		if got := strings.Join(test.load.roomArgs(64, "127.0.0.1:80"), " "); got != test.want {
			t.Errorf("got command %q, want %q", got, test.want)
		}
	}
}

// TestRunOfRoomsReportsLostMessages runs a small form of the experiment chat, with a server that
// loses messages.
func TestRunOfRoomsReportsLostMessages(t *testing.T) {
	b := newBench(t)
	no := false
	b.experiment.Workload, b.experiment.Patterns, b.experiment.AAControl, b.experiment.TimeLimit = "chat", nil, &no, Duration(1)
	b.experiment.Loads = []Load{
		{Name: "talk", Rate: 50, Subjects: []string{"rooms-sound", "rooms-loses"}},
		{Name: "closed loop", Connections: []int{2, 5}, Subjects: []string{"rooms-sound"}},
		{Name: "replay", Replay: 500, Connections: []int{1}, Subjects: []string{"rooms-sound", "rooms-hangs-up"}},
		{Name: "quiet", Rate: 20, Connections: []int{2}, Cold: true, Subjects: []string{"rooms-sound"}},
		{Name: "idle", Rate: 20, Connections: []int{2}, Cold: true, Idle: 50, Subjects: []string{"rooms-sound"}},
	}
	for name, fault := range map[string]string{"rooms-sound": "", "rooms-loses": "loses", "rooms-hangs-up": "hangs up"} {
		b.experiment.Subjects = append(b.experiment.Subjects, name)
		dir := filepath.Join(b.options.Root, "subjects", name)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "subject.toml"), fmt.Appendf(nil, "name = %q\nlanguage = \"Go\"\nparadigm = \"goroutine per connection\"\nabout = \"Rooms.\"\n"+
			"durability = \"lost\"\nworkloads = [\"chat\"]\nrun = [%q, \"rooms\", \"{addr}\", %q]\nwarm_messages = 10\n", name, os.Args[0], fault), 0o644))
	}
	b.experiment.Duration = Duration(300 * time.Millisecond)
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
