package chat

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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
	t := &report.Table{Caption: "Chat servers", Align: "ll", Head: []string{"Subject", "Acknowledged messages when killed"}}
	columns := d.roomColumns()
	for _, c := range columns {
		t.Head, t.Align = append(t.Head, c.head), t.Align+"r"
	}
	for _, name := range d.Names {
		row := []string{name, cmp.Or(d.Subject(name).Durability, format.Absent)}
		for _, c := range columns {
			row = append(row, c.of(name))
		}
		t.Add(row...)
	}
	s := report.Section{ID: "rooms", Title: "Speed, memory and durability of each chat server",
		How: "Medians over the accepted trials. Latency is from the time at which a message was due to its delivery to each member. In a closed loop a member sends its next message when all members have received the last. " +
			"Memory per idle connection is the difference between runs with and without them. The time of a replay is from a new member's request for the history to its last message."}
	if len(t.Rows) > 0 && len(columns) > 0 {
		s.Blocks = []report.Block{{Table: t.Trim()}}
	}
	return s
}

// roomColumn is a figure of every server.
type roomColumn struct {
	head string
	of   func(subject string) string
}

// roomColumns returns the figures that the run's loads provide.
func (d digest) roomColumns() (all []roomColumn) {
	add := func(g *report.Group, head string, of func(*report.Cell) string) {
		all = append(all, roomColumn{head, func(subject string) string {
			if c := g.Cell(subject); c != nil && len(c.Trials) > 0 {
				return of(c)
			}
			return format.Absent
		}})
	}
	most := 0
	for _, g := range d.Groups {
		if d.talks(g) && g.Pattern != result.Closed {
			most = max(most, g.Connections)
		}
	}
	for _, g := range d.Groups {
		l := d.LoadOf(g.Load)
		switch closed := g.Pattern == result.Closed; {
		case l.Rooms.Replay > 0:
			add(g, fmt.Sprintf("Replay of %s, thousand/s", format.Count(l.Rooms.Replay)), func(c *report.Cell) string { return format.Sig(float64(l.Rooms.Replay) / c.Millis(report.P50)) })
		case l.Idle > 0:
			add(g, "KB per idle connection", func(c *report.Cell) string { return format.Sig(d.perIdle(g, c, l.Idle)) })
		case closed:
			add(g, fmt.Sprintf("Closed loop, %s, thousand/s", members(g.Connections)), func(c *report.Cell) string { return format.Sig(c.Rate().Mean / 1000) })
		case d.talks(g) && g.Connections == most:
			name := fmt.Sprintf("%s, %s messages/s: ", members(g.Connections), format.Short(l.Rate*float64(g.Connections)))
			add(g, name+"CPU\u00a0%", func(c *report.Cell) string { return c.Percent.String() })
			add(g, "p50, ms", func(c *report.Cell) string { return format.Sig(c.Millis(report.P50)) })
			add(g, "p99, ms", func(c *report.Cell) string { return format.Sig(c.Millis(report.P99)) })
		}
	}
	return all
}

// talks reports whether a group's load is members that talk, without idle connections and replays.
func (d digest) talks(g *report.Group) bool {
	l := d.LoadOf(g.Load)
	return l.Idle == 0 && l.Rooms.Replay == 0 && !l.Requests.Cold
}

// perIdle returns the memory of an idle connection in KB: the difference from the group without
// idle connections.
func (d digest) perIdle(g *report.Group, c *report.Cell, idle int) float64 {
	want := d.LoadOf(g.Load)
	want.Idle = 0
	i := slices.IndexFunc(d.Groups, func(other *report.Group) bool {
		l := d.LoadOf(other.Load)
		want.Name = l.Name
		return l == want && other.Connections == g.Connections && other.Pattern == g.Pattern
	})
	if i < 0 {
		return math.NaN()
	}
	without := d.Groups[i].Cell(c.Subject)
	if without == nil || len(without.Trials) == 0 {
		return math.NaN()
	}
	kb := func(t *result.Trial) float64 { return float64(t.Memory.PSSKB) }
	return (report.Median(c.Trials, kb) - report.Median(without.Trials, kb)) / float64(idle)
}

// loopsSection shows the rates of closed loops.
func (d digest) loopsSection() report.Section {
	s := report.Section{ID: "closed", Title: "Deliveries per second in a closed loop",
		How: "A member sends its next message when all members have received the last, so the server and its waits set the rate. For a replay it is the messages of the history per second, including the join. " + d.Correction(result.MetricRate)}
	for _, g := range d.ClosedLoops() {
		if l := d.LoadOf(g.Load); l.Idle > 0 {
			continue
		}
		t := &report.Table{Caption: format.Upper(d.Caption(g)) + ": deliveries/s, fastest first", Align: "lrrrlrr",
			Head: []string{"Subject", "Deliveries/s", "95 % interval of the mean", "Ratio to the fastest (corrected interval)", "Verdict on the ratio", "p50, ms", "p99, ms"}}
		cells := g.ByRate()
		for i, c := range cells {
			of, verdict := "1", "highest mean"
			if i > 0 {
				of, verdict = d.VersusFastest(g, c, cells[0])
			}
			t.Add(c.Subject, format.Rate(c.Rate().Mean), c.Rate().RateInterval(), of, verdict, format.Sig(c.Millis(report.P50)), format.Sig(c.Millis(report.P99)))
		}
		if len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, report.Block{Table: t})
		}
		if bound := d.GeneratorBound(g); len(bound) > 0 {
			s.Blocks = append(s.Blocks, report.Paragraph("The load generator reached its limit with %s, and the server did not: its rate is at least the stated one.", format.List(bound)))
		}
	}
	return s
}
