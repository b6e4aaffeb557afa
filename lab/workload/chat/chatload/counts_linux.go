package chatload

import (
	"strings"

	"weir/lab/internal/tally"
	"weir/lab/load"
	"weir/lab/result"
)

// counts are the loop's results beside oneloop.Counts, whose messages are deliveries.
type counts struct {
	replays         tally.Distribution
	dueIn, sentIn   int64 // messages due in the window, and messages sent in it
	missing, joinNS int64
	caps            []string // capabilities of the first member
}

// report returns the results of an ended loop.
func (l *loop) report() Report {
	if !l.open {
		l.Offered, l.Answered = l.Messages, l.Messages
	}
	rep := Report{Target: l.Target, Address: l.Server.Address, Members: l.Members, Rooms: l.Rooms, Senders: l.senderCount, Rate: l.Rate, Size: l.Size, Idle: l.Idle,
		Caps: strings.Join(l.caps, " "), History: l.replay.how(), Report: l.State.Report(), Sent: l.sentIn, Missing: l.missing,
		Replays: l.replays.Count(), ReplayUS: l.replays.Percentiles(), JoinNS: l.joinNS}
	rep.AchievedRatio, rep.Failed = 1, l.Offered-l.Answered
	if l.open && l.dueIn > 0 {
		rep.AchievedRatio = load.Ratio(l.sentIn, l.dueIn)
	}
	if l.Replay > 0 {
		rep.LatencyUS = result.Percentiles{}
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
