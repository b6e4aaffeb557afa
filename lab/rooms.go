package lab

import (
	"fmt"
	"strconv"
	"strings"

	"weir/lab/result"
	"weir/lab/workload/chat/chatload"
)

// deliveries is the workload of deliveries to the members of chat rooms.
type deliveries struct{ servers }

func (deliveries) patterns(e *Experiment) (all []string, byLoads bool) { return e.loadPatterns(), true }

// connectionsOf returns the numbers of connections that meet l.
func (e *Experiment) connectionsOf(l Load) []int {
	if len(l.Connections) > 0 {
		return l.Connections
	}
	return e.Connections
}

// textSize is the default number of bytes of text per message.
const textSize = 80

func (deliveries) checkLoad(e *Experiment, l *Load) string {
	setDefault(&l.Size, textSize)
	cold := l.Cold
	l.Cold = false
	requests := l.hasHTTPSettings()
	l.Cold = cold
	switch {
	case l.hasStackSettings():
		return settingsOfStack
	case requests || l.Bits != 0 || l.Churn != 0 || l.WorkUS != 0 || l.WaitMS != 0:
		return "a load of the workload chat has a rate, size, idle, replay, caps, connections and cold: leave the others out"
	case duplicate("connections", l.Connections) != "":
		return duplicate("connections", l.Connections)
	}
	for _, n := range e.connectionsOf(*l) {
		c := chatload.Config{Target: "127.0.0.1:1", Members: n, Rooms: 1, Rate: l.Rate * float64(n), Size: l.Size, Idle: l.Idle, Replay: l.Replay}
		if err := c.Check(true); err != nil {
			return fmt.Sprintf("with %d members: %s", n, strings.TrimPrefix(err.Error(), "load: "))
		}
	}
	return ""
}

func (deliveries) args(_ *Runner, p Place, l Load, addr string) []string {
	return l.roomArgs(p.Connections, addr)
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

// fill implements workload. For a load with a replay, the latency is the time of the replay.
func (deliveries) fill(t *result.Trial, _ *running, _ Load, g loadReport, _ collectorReports) {
	fillClosed(t)
	if g.ReplayUS != (result.Percentiles{}) {
		t.LatencyUS = g.ReplayUS
	}
}

func (deliveries) failures(t *result.Trial, ev Evidence) (wrong, slow findings) {
	return messageFailures(t, ev)
}

func (deliveries) rejections(t *result.Trial, ev Evidence, onTime bool) findings {
	return append(loadShort(t, onTime), boundClosedLoop(t, ev)...)
}
