package chat

import (
	"strings"
	"testing"

	"weir/lab/report"
	"weir/lab/result"
)

// chatRun returns a run of two chat servers under every kind of load.
func chatRun() *result.Results {
	r := &result.Results{Version: result.Version, Experiment: "chat", Plan: result.Plan{Workload: "chat", Connections: []int{64}, Blocks: 1, WindowMS: 500, Patterns: []string{"staggered", result.Closed}}}
	quiet := result.Load{Name: "quiet", Rate: 5, Size: 80, Requests: result.Requests{Cold: true}}
	idle := quiet
	idle.Name, idle.Idle = "idle", 1000
	r.Plan.Loads = []result.Load{{Name: "talk", Rate: 7.8125, Size: 80}, {Name: "loop", Size: 80}, {Name: "replay", Size: 80, Rooms: result.Rooms{Replay: 10_000}}, quiet, idle}
	r.Subjects = []result.Subject{{Name: "chat-a", Durability: "kept"}, {Name: "chat-b", Durability: "lost"}}
	add := func(load string, connections int, pattern, subject string, messages int64, p50us float64, pss int64) {
		for position := range 2 {
			r.Trials = append(r.Trials, result.Trial{ID: len(r.Trials) + 1, Subject: subject, Load: load, Connections: connections, Pattern: pattern, Position: 2*position + int(subject[5]-'a'),
				Messages: messages, WindowS: 1, CPUPercentMean: 12, CPUUSPerMessage: 3, LatencyUS: result.Percentiles{P50: p50us, P99: 2 * p50us}, Memory: result.Memory{PSSKB: pss}, Accepted: true})
		}
	}
	for i, subject := range []string{"chat-a", "chat-b"} {
		add("talk", 64, "staggered", subject, 31_500, 400, 0)
		add("loop", 10, result.Closed, subject, 200_000, 300, 0)
		add("loop", 256, result.Closed, subject, 300_000, 900, 0)
		add("replay", 1, result.Closed, subject, 100_000, 50_000, 0)
		add("quiet", 2, "staggered", subject, 10, 300, 10_000)
		add("idle", 2, "staggered", subject, 10, 300, 10_000+int64(i+1)*4000)
	}
	return r
}

func TestChatServersAreComparedInOneTable(t *testing.T) {
	s := digestOf(report.NewDigest(chatRun(), Report{})).roomsSection()
	if len(s.Blocks) != 1 {
		t.Fatalf("got %d blocks, want the table", len(s.Blocks))
	}
	table := s.Blocks[0].Table
	head := strings.Join(table.Head, " | ")
	for _, want := range []string{"64 members, 500 messages/s: CPU", "Closed loop, 10 members, thousand/s", "Closed loop, 256 members", "Replay of 10,000, thousand/s", "KB per idle connection"} {
		if !strings.Contains(head, want) {
			t.Errorf("got the columns %s, want %q", head, want)
		}
	}
	for i, want := range []string{"chat-a|kept|12|0.4|0.8|200|300|200|4", "chat-b|lost|12|0.4|0.8|200|300|200|8"} {
		got := strings.Join(table.Rows[i], "|")
		if fields := strings.Split(want, "|"); len(fields) != len(table.Rows[i]) {
			t.Errorf("row %d: got %s, want %s", i, got, want)
		} else {
			for k, f := range fields {
				if !strings.HasPrefix(table.Rows[i][k], f) {
					t.Errorf("row %d: got %s, want %s", i, got, want)
				}
			}
		}
	}
	if strings.Contains(head, "quiet") {
		t.Errorf("got the columns %s, want none for the load without idle connections", head)
	}
}
