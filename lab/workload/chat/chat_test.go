package chat

import (
	"strings"
	"testing"
	"weir/lab/workload"
)

// TestRatesOfMembersArePassedInTotal: rates are per member in an experiment, and in total on the
// command line.
func TestRatesOfMembersArePassedInTotal(t *testing.T) {
	for _, test := range []struct {
		load *Load
		want string
	}{
		{&Load{Common: workload.Common{Rate: 7.8125}, Size: 80}, "chat --steer --members 64 --size 80 --idle 0 --rate 500 127.0.0.1:80"},
		{&Load{Size: 80, Idle: 5, Caps: "server-time"}, "chat --steer --members 64 --size 80 --idle 5 --caps server-time 127.0.0.1:80"},
		{&Load{Size: 80, Replay: 100}, "chat --steer --members 64 --size 80 --idle 0 --replay 100 127.0.0.1:80"},
	} {
		if got := strings.Join(session{}.Args(test.load, workload.Cell{Connections: 64}, workload.Target{Addr: "127.0.0.1:80"}), " "); got != test.want {
			t.Errorf("got command %q, want %q", got, test.want)
		}
	}
}
