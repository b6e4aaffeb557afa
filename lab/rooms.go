package lab

import (
	"fmt"
	"strconv"
	"strings"

	loadchat "weir/lab/load/chat"
	"weir/lab/result"
)

// The part of loads that is specific to members of chat rooms.

// isChat reports whether the experiment's messages are deliveries to members of a room.
func (e *Experiment) isChat() bool { return result.IsChat(e.Workload) }

// connectionsOf returns the numbers of connections that meet l.
func (e *Experiment) connectionsOf(l Load) []int {
	if len(l.Connections) > 0 {
		return l.Connections
	}
	return e.Connections
}

// textSize is the default number of bytes of text per message.
const textSize = 80

// checkRooms sets l's default size and returns what is wrong with a load of members; empty if it is
// valid.
func (e *Experiment) checkRooms(l *Load) string {
	setDefault(&l.Size, textSize)
	cold := l.Cold
	l.Cold = false
	requests := l.hasHTTPSettings()
	l.Cold = cold
	switch {
	case requests || l.Bits != 0 || l.Churn != 0 || l.WorkUS != 0 || l.WaitMS != 0:
		return "a load of the workload chat has a rate, size, idle, replay, caps, connections and cold: leave the others out"
	case duplicate("connections", l.Connections) != "":
		return duplicate("connections", l.Connections)
	}
	for _, n := range e.connectionsOf(*l) {
		c := loadchat.Config{Target: "127.0.0.1:1", Members: n, Rooms: 1, Rate: l.Rate * float64(n), Size: l.Size, Idle: l.Idle, Replay: l.Replay}
		if err := c.Check(true); err != nil {
			return fmt.Sprintf("with %d members: %s", n, strings.TrimPrefix(err.Error(), "load: "))
		}
	}
	return ""
}

// roomArgs returns the generator's command line for l.
func (l Load) roomArgs(members int, addr string) []string {
	args := []string{"chat", "--steer", "--members", strconv.Itoa(members), "--size", strconv.Itoa(l.Size), "--idle", strconv.Itoa(l.Idle)}
	if l.Rate > 0 {
		args = append(args, "--rate", strconv.FormatFloat(l.Rate*float64(members), 'f', -1, 64))
	}
	if l.Replay > 0 {
		args = append(args, "--replay", strconv.Itoa(l.Replay))
	}
	if l.Caps != "" {
		args = append(args, "--caps", l.Caps)
	}
	return append(args, addr)
}

// fillRooms corrects a trial by the generator's report of its rooms. A closed loop offers exactly
// what is delivered. For a load with a replay, the latency is the time of the replay.
func fillRooms(t *result.Trial, g loadReport) {
	if t.Pattern == result.Closed {
		t.OfferedRate, t.AchievedRatio = 0, 1
	}
	if g.ReplayUS != (result.Percentiles{}) {
		t.LatencyUS = g.ReplayUS
	}
}
