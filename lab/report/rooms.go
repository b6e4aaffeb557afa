package report

import (
	"fmt"
	"math"
	"slices"

	"weir/lab/result"
)

// roomSections returns the sections of a report on chat servers, whose connections are members of a
// room.
func (d *digest) roomSections() []section {
	return []section{
		d.roomsSection(), d.deliverySection(), d.loopsSection(), d.connectionsSection(), d.ratiosSection(), d.controlSection(), d.rejectionsSection(), d.memorySection(),
		d.tableSection(), d.timeSection(), d.trialsSection(), d.accountingSection(), d.windowsSection(),
		d.subjectsSection(), d.offeredSection(), d.coldSection(), d.machineSection(), d.limitationsSection(), d.commandSection(),
	}
}

// deliverySection ranks the subjects under every load.
func (d *digest) deliverySection() section {
	return section{ID: "cost", Title: "CPU per delivery",
		How: "CPU of the server's whole process tree, lowest first; 1,000,000 divided by it is the number of deliveries per second of CPU. A delivery is one member's message sent to one other member: in a room of 64 each message makes 63. " +
			"Generator and Machine are the CPU of the load generator, which checks every delivery, and of the whole machine. " + d.correction(result.MetricCPU),
		Blocks: d.perGroupTable(d.rankTable)}
}

// roomsSection compares the servers in one table, one row each.
func (d *digest) roomsSection() section {
	t := &table{Caption: "Chat servers", Align: "ll", Head: []string{"Subject", "Acknowledged messages when killed"}}
	columns := d.roomColumns()
	for _, c := range columns {
		t.Head, t.Align = append(t.Head, c.head), t.Align+"r"
	}
	for _, name := range d.subjects {
		row := []string{name, orElse(d.subject(name).Durability, absent)}
		for _, c := range columns {
			row = append(row, c.of(name))
		}
		t.add(row...)
	}
	s := section{ID: "rooms", Title: "Speed, memory and durability of each chat server",
		How: "Medians over the accepted trials. Latency is from the time at which a message was due to its delivery to each member. In a closed loop a member sends its next message when all members have received the last. " +
			"Memory per idle connection is the difference between runs with and without them. The time of a replay is from a new member's request for the history to its last message."}
	if len(t.Rows) > 0 && len(columns) > 0 {
		s.Blocks = []block{{Table: t.trim()}}
	}
	return s
}

// roomColumn is a figure of every server.
type roomColumn struct {
	head string
	of   func(subject string) string
}

// roomColumns returns the figures that the run's loads provide.
func (d *digest) roomColumns() (all []roomColumn) {
	add := func(g *group, head string, of func(*cell) string) {
		all = append(all, roomColumn{head, func(subject string) string {
			if c := g.cell(subject); c != nil && len(c.trials) > 0 {
				return of(c)
			}
			return absent
		}})
	}
	most := 0
	for _, g := range d.groups {
		if d.talks(g) && g.pattern != result.Closed {
			most = max(most, g.connections)
		}
	}
	for _, g := range d.groups {
		l := d.loadOf(g.load)
		switch closed := g.pattern == result.Closed; {
		case l.Rooms.Replay > 0:
			add(g, fmt.Sprintf("Replay of %s, thousand/s", count(l.Rooms.Replay)), func(c *cell) string { return sig(float64(l.Rooms.Replay) / c.ms(p50)) })
		case l.Idle > 0:
			add(g, "KB per idle connection", func(c *cell) string { return sig(d.perIdle(g, c, l.Idle)) })
		case closed:
			add(g, fmt.Sprintf("Closed loop, %s, thousand/s", members(g.connections)), func(c *cell) string { return sig(c.rate().mean / 1000) })
		case d.talks(g) && g.connections == most:
			name := fmt.Sprintf("%s, %s messages/s: ", members(g.connections), short(l.Rate*float64(g.connections)))
			add(g, name+"CPU\u00a0%", func(c *cell) string { return c.percent.String() })
			add(g, "p50, ms", func(c *cell) string { return sig(c.ms(p50)) })
			add(g, "p99, ms", func(c *cell) string { return sig(c.ms(p99)) })
		}
	}
	return all
}

// talks reports whether a group's load is members that talk, without idle connections and replays.
func (d *digest) talks(g *group) bool {
	l := d.loadOf(g.load)
	return l.Idle == 0 && l.Rooms.Replay == 0 && !l.Requests.Cold
}

func members(n int) string { return plural(n, "member", "members") }

// perIdle returns the memory of an idle connection in KB: the difference from the group without
// idle connections.
func (d *digest) perIdle(g *group, c *cell, idle int) float64 {
	want := d.loadOf(g.load)
	want.Idle = 0
	i := slices.IndexFunc(d.groups, func(other *group) bool {
		l := d.loadOf(other.load)
		want.Name = l.Name
		return l == want && other.connections == g.connections && other.pattern == g.pattern
	})
	if i < 0 {
		return math.NaN()
	}
	without := d.groups[i].cell(c.subject)
	if without == nil || len(without.trials) == 0 {
		return math.NaN()
	}
	kb := func(t *result.Trial) float64 { return float64(t.Memory.PSSKB) }
	return (median(c.trials, kb) - median(without.trials, kb)) / float64(idle)
}

// loopsSection shows the rates of closed loops.
func (d *digest) loopsSection() section {
	s := section{ID: "closed", Title: "Deliveries per second in a closed loop",
		How: "A member sends its next message when all members have received the last, so the server and its waits set the rate. For a replay it is the messages of the history per second, including the join. " + d.correction(result.MetricRate)}
	for _, g := range d.loops() {
		if l := d.loadOf(g.load); l.Idle > 0 {
			continue
		}
		t := &table{Caption: upper(d.caption(g)) + ": deliveries/s, fastest first", Align: "lrrrlrr",
			Head: []string{"Subject", "Deliveries/s", "95 % interval of the mean", "Ratio to the fastest (corrected interval)", "Verdict on the ratio", "p50, ms", "p99, ms"}}
		cells := g.byRate()
		for i, c := range cells {
			of, verdict := "1", "highest mean"
			if i > 0 {
				of, verdict = d.versusFastest(g, c, cells[0])
			}
			t.add(c.subject, perSecond(c.rate().mean), c.rate().rateInterval(), of, verdict, sig(c.ms(p50)), sig(c.ms(p99)))
		}
		if len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, block{Table: t})
		}
		if bound := g.generatorBound(d); len(bound) > 0 {
			s.Blocks = append(s.Blocks, text("The load generator reached its limit with %s, and the server did not: its rate is at least the stated one.", list(bound)))
		}
	}
	return s
}

// describeRooms is a load in words: "7.8 messages/s of 80 bytes per member".
func describeRooms(l result.Load) string {
	s := fmt.Sprintf("%s messages/s of %s bytes per member", short(l.Rate), count(l.Size))
	switch {
	case l.Rooms.Replay > 0:
		s = fmt.Sprintf("a history of %s messages of %s bytes, read by one new member after the other", count(l.Rooms.Replay), count(l.Size))
	case l.Rate == 0:
		s = fmt.Sprintf("a closed loop of messages of %s bytes", count(l.Size))
	}
	if l.Idle > 0 {
		s += fmt.Sprintf(", %s idle", conns(l.Idle))
	}
	if l.Rooms.Caps != "" {
		s += ", with " + l.Rooms.Caps
	}
	return s
}
