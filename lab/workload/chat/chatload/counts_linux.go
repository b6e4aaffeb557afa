package chatload

import (
	"strings"

	"weir/lab/internal/tally"
	"weir/lab/result"
)

// counts are the loop's results. The controller reads them after the loop has ended.
type counts struct {
	latency, lateness, replays tally.Distribution

	offered, answered        int64 // deliveries of the window's messages
	dueIn, sentIn            int64 // messages due in the window, and messages sent in it
	messages, bytes          int64
	behind, warmDeliveries   int64
	missing, joinNS          int64
	windowOver, stoppedEarly bool // the window is over; it was cut short
	failures                 tally.Failures
	caps                     []string // capabilities of the first member
}

func newCounts() counts {
	return counts{latency: tally.NewDistribution(), lateness: tally.NewDistribution(), replays: tally.NewDistribution()}
}

// report returns the results of an ended loop.
func (l *loop) report() Report {
	window := l.Length()
	rep := Report{Target: l.Target, Address: l.addr, Members: l.Members, Rooms: l.Rooms, Senders: l.senderCount, Rate: l.Rate, Size: l.Size, Idle: l.Idle,
		Caps: strings.Join(l.caps, " "), History: l.replay.how(),
		Offered: l.offered, Answered: l.answered, Messages: l.messages, Sent: l.sentIn, Missing: l.missing, Bytes: l.bytes, Behind: l.behind,
		WarmMessages: l.warmDeliveries, Replays: l.replays.Count(), LatenessUS: l.lateness.Percentiles(), LatencyUS: l.latency.Percentiles(),
		ReplayUS: l.replays.Percentiles(), JoinNS: l.joinNS, AchievedRatio: 1,
		Errors: map[string]int64{}, Details: l.failures.Details, Interrupt: l.stoppedEarly,
		CPUNS: l.CPU(), RunQueueNS: l.RunQueue(), WindowNS: window, StartedNS: l.From}
	for kind, n := range l.failures.Kinds {
		rep.Errors[kind] = n
	}
	switch {
	case l.period == 0:
		rep.Offered, rep.Answered = l.messages, l.messages
	case l.dueIn > 0:
		rep.AchievedRatio = float64(l.sentIn) / float64(l.dueIn)
	}
	if l.Replay > 0 {
		rep.LatencyUS = result.Percentiles{}
	}
	if window > 0 {
		rep.OfferedRate = float64(rep.Offered) * 1e9 / float64(window)
		rep.MessageRate = float64(rep.Messages) * 1e9 / float64(window)
	}
	if l.Acks {
		rep.Acknowledged = l.acknowledged()
	}
	return rep
}

// acknowledged returns the acknowledged messages of every sender.
func (l *loop) acknowledged() (all []Acknowledged) {
	mark := string(l.texts.append(nil, 0, 0)[:markSize])
	for i := range l.senderCount {
		m := &l.members[i]
		a := Acknowledged{Room: l.rooms[m.room].name, Nick: m.nick, Mark: mark, Sender: uint32(i), Sent: m.nextNumber, Messages: m.ackedBefore, How: "pong"}
		if m.echoesMessages {
			a.How = "echo"
		}
		all = append(all, a)
	}
	return all
}
