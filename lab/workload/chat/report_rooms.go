package chat

import (
	"cmp"
	"fmt"
	"math"

	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/result"
)

// deliverySection ranks the subjects under every load.
func (d digest) deliverySection() report.Section {
	return report.Section{ID: "cost", Title: "CPU per delivery",
		How: "CPU of the server's whole process tree, lowest first; 1,000,000 divided by it is the number of deliveries per second of CPU. A delivery is one member's message sent to one other member: in a room of 64 each message makes 63. " +
			"Generator and Machine are the CPU of the load generator, which checks every delivery, and of the whole machine. " + d.Correction(result.MetricCPU),
		Blocks: d.PerGroupTable(d.RankTable)}
}

// roomsSection compares the servers in one table, one row each.
func (d digest) roomsSection() report.Section {
	return report.Section{ID: "rooms", Title: "Speed, memory and durability of each chat server",
		How: "Medians over the accepted trials. Latency is from the time at which a message was due to its delivery to each member. In a closed loop a member sends its next message when all members have received the last. " +
			"Memory per idle connection is the difference between runs with and without them. The time of a replay is from a new member's request for the history to its last message.",
		Blocks: []report.Block{{Table: d.roomsTable()}}}
}

// roomsTable has the figures that the run's loads provide.
func (d digest) roomsTable() *report.Table {
	t := &report.Table{Caption: "Chat servers", Align: "ll", Head: []string{"Subject", "Acknowledged messages when killed"}}
	for _, name := range d.Names {
		t.Add(name, cmp.Or(d.Subject(name).Durability, format.Absent))
	}
	for _, g := range d.Groups {
		add := func(head string, of func(*report.Cell) string) {
			t.InsertColumn(len(t.Head), head, 'r', func(row int) string {
				if c := g.MeasuredCell(d.Names[row]); c != nil {
					return of(c)
				}
				return format.Absent
			})
		}
		switch l := d.LoadOf(g.Load); {
		case l.Rooms.Replay > 0:
			add(fmt.Sprintf("Replay of %s, thousand/s", format.Count(l.Rooms.Replay)), func(c *report.Cell) string { return format.Sig(float64(l.Rooms.Replay) / c.Millis(report.P50)) })
		case l.Idle > 0:
			add("KB per idle connection", func(c *report.Cell) string { return format.Sig(d.perIdle(g, c, l.Idle)) })
		case g.Pattern == result.Closed:
			add(fmt.Sprintf("Closed loop, %s, thousand/s", members(g.Connections)), func(c *report.Cell) string { return format.Sig(c.Rate().Mean / 1000) })
		case d.talks(g) && g.Connections == d.largestRoom():
			name := fmt.Sprintf("%s, %s messages/s: ", members(g.Connections), format.Short(l.Rate*float64(g.Connections)))
			add(name+"CPU\u00a0%", func(c *report.Cell) string { return c.Percent.String() })
			add("p50, ms", func(c *report.Cell) string { return format.Sig(c.Millis(report.P50)) })
			add("p99, ms", func(c *report.Cell) string { return format.Sig(c.Millis(report.P99)) })
		}
	}
	return t.Trim()
}

// largestRoom returns the most members that talk at a rate.
func (d digest) largestRoom() (most int) {
	for _, g := range d.Groups {
		if d.talks(g) && g.Pattern != result.Closed {
			most = max(most, g.Connections)
		}
	}
	return most
}

// talks reports whether a group's load is members that talk, without idle connections and replays.
func (d digest) talks(g *report.Group) bool {
	l := d.LoadOf(g.Load)
	return l.Idle == 0 && l.Rooms.Replay == 0 && !l.Requests.Cold
}

// perIdle returns the memory of an idle connection in KB: the difference from the group without
// idle connections.
func (d digest) perIdle(g *report.Group, c *report.Cell, idle int) float64 {
	base := d.Sibling(g, func(own, other result.Load) bool {
		own.Idle = 0
		return own == other
	})
	if base == nil || base.Cell(c.Subject) == nil {
		return math.NaN()
	}
	kb := func(t *result.Trial) float64 { return float64(t.Memory.PSSKB) }
	return (report.Median(c.Trials, kb) - report.Median(base.Cell(c.Subject).Trials, kb)) / float64(idle)
}

// loopsSection shows the rates of closed loops.
func (d digest) loopsSection() report.Section {
	s := report.Section{ID: "closed", Title: "Deliveries per second in a closed loop",
		How: "A member sends its next message when all members have received the last, so the server and its waits set the rate. For a replay it is the messages of the history per second, including the join. " + d.Correction(result.MetricRate)}
	for _, g := range d.ClosedLoops() {
		if d.LoadOf(g.Load).Idle == 0 {
			s.Blocks = append(s.Blocks, report.Block{Table: d.RateTable(g)}, d.GeneratorBound(g))
		}
	}
	return s
}
