package chat

import (
	"strings"

	"weir/lab/load/internal/tally"
	"weir/lab/result"
)

// counts is what the loop found. The controller reads it when the loop has ended.
type counts struct {
	latency, lateness, replays tally.Distribution

	offered, answered int64 // deliveries of the window
	dueIn, sentIn     int64 // messages that were due in the window, and sent in it
	messages, bytes   int64
	behind, warm      int64
	missing, joinNS   int64
	ended, cut        bool // the window is over; before its time
	fails             tally.Failures
	caps              []string // that the first member got
}

func newCounts() counts {
	return counts{latency: tally.NewDistribution(), lateness: tally.NewDistribution(), replays: tally.NewDistribution()}
}

// report is what the loop found, once it has ended.
func (l *loop) report() Report {
	window := l.Length()
	rep := Report{Target: l.Target, Address: l.addr, Members: l.Members, Rooms: l.Rooms, Senders: l.talkers, Rate: l.Rate, Size: l.Size, Idle: l.Idle,
		Caps: strings.Join(l.caps, " "), History: l.replay.how(),
		Offered: l.offered, Answered: l.answered, Messages: l.messages, Sent: l.sentIn, Missing: l.missing, Bytes: l.bytes, Behind: l.behind,
		WarmMessages: l.warm, Replays: l.replays.Count(), LatenessUS: l.lateness.Percentiles(), LatencyUS: l.latency.Percentiles(),
		ReplayUS: l.replays.Percentiles(), JoinNS: l.joinNS, AchievedRatio: 1,
		Errors: map[string]int64{}, Details: l.fails.Details, Interrupt: l.cut,
		CPUNS: l.CPU(), RunQueueNS: l.RunQueue(), WindowNS: window, StartedNS: l.From}
	for kind, n := range l.fails.Kinds {
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

// acknowledged is what every sender knows.
func (l *loop) acknowledged() (all []Acknowledged) {
	mark := string(l.texts.append(nil, 0, 0)[:markSize])
	for i := range l.talkers {
		m := &l.members[i]
		a := Acknowledged{Room: l.rooms[m.room].name, Nick: m.nick, Mark: mark, Sender: uint32(i), Sent: m.sent, Messages: m.acked, How: "pong"}
		if m.echo {
			a.How = "echo"
		}
		all = append(all, a)
	}
	return all
}
