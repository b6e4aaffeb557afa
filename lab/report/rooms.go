package report

import (
	"fmt"
	"math"
	"slices"

	"weir/lab/result"
)

// What reports on chat servers have of their own: their connections are members of a room, and what
// they are compared by is not one figure.

// roomSections is the sections of such a report.
func (d *digest) roomSections() []section {
	return []section{
		d.roomsSection(), d.deliverySection(), d.tableSection(), d.loopsSection(), d.connectionsSection(), d.timeSection(), d.rulersSection(),
		d.memorySection(), d.trialsSection(), d.ratiosSection(), d.twinSection(), d.windowsSection(),
		d.subjectsSection(), d.offeredSection(), d.refusalsSection(), d.coldSection(), d.machineSection(), d.limitationsSection(), d.commandSection(),
	}
}

// deliverySection ranks the subjects under every load.
func (d *digest) deliverySection() section {
	return section{ID: "cost", Title: "CPU per delivery",
		How: "Of the server's whole process tree, cheapest first; 1,000,000 divided by it is deliveries per CPU second. A delivery is a message that one member is told: in a room of 64 everything that is said makes 63. " +
			"Generator and Machine are the CPU of the load generator, which checks every delivery, and of the whole machine. " + d.correction(result.MetricCPU),
		Blocks: d.perGroupTable(d.rankTable)}
}

// roomsSection is one row for each server: what it does and what it keeps.
func (d *digest) roomsSection() section {
	t := &table{Caption: "Chat servers", Align: "ll", Head: []string{"Subject", "Killed, what was acknowledged is"}}
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
	s := section{ID: "rooms", Title: "What each chat server does, and what it keeps",
		How: "Medians over the accepted trials. Latency counts from the time at which a message was due to its delivery to each member. In a closed loop everybody says the next when all have heard the last. " +
			"Memory is the difference that idle connections make, divided by their number. A replay is the time from a newcomer's asking for the history to its last message."}
	if len(t.Rows) > 0 && len(columns) > 0 {
		s.Blocks = []block{{Table: t.trim()}}
	}
	return s
}

// roomColumn is one figure of every server.
type roomColumn struct {
	head string
	of   func(subject string) string
}

// roomColumns is the figures that the run's loads give.
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

// talks says whether a group's load is members who talk, and nothing else but them.
func (d *digest) talks(g *group) bool {
	l := d.loadOf(g.load)
	return l.Idle == 0 && l.Rooms.Replay == 0 && !l.Requests.Cold
}

func members(n int) string { return plural(n, "member", "members") }

// perIdle is the memory of one idle connection in KB, from the group that differs from g by having
// none.
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

// loopsSection is the deliveries a second of closed loops.
func (d *digest) loopsSection() section {
	s := section{ID: "closed", Title: "Deliveries a second in a closed loop",
		How: "Everybody says the next when all have heard the last, so the rate is set by the server and by whatever makes it wait; of a replay, messages of the history a second, joining included. " + d.correction(result.MetricRate)}
	for _, g := range d.loops() {
		if l := d.loadOf(g.load); l.Idle > 0 {
			continue
		}
		t := &table{Caption: upper(d.caption(g)) + ": deliveries/s, fastest first", Align: "lrrrlrr",
			Head: []string{"Subject", "Deliveries/s", "95 % interval of the mean", "Of the fastest (interval of the verdict)", "Verdict on that", "p50, ms", "p99, ms"}}
		cells := g.byRate()
		for i, c := range cells {
			of, verdict := "1", "highest mean"
			if i > 0 {
				of, verdict = d.versusFastest(g, c, cells[0])
			}
			t.add(c.subject, perSecond(c.rate().mean), c.rate().finer(), of, verdict, sig(c.ms(p50)), sig(c.ms(p99)))
		}
		if len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, block{Table: t})
		}
		if bound := g.generatorBound(d); len(bound) > 0 {
			s.Blocks = append(s.Blocks, text("The load generator was at its limit with %s, and the server was not: what they deliver is at least that.", list(bound)))
		}
	}
	return s
}

// describeRooms is a load in words: "7.8 messages/s of 80 bytes per member".
func describeRooms(l result.Load) string {
	s := fmt.Sprintf("%s messages/s of %s bytes per member", short(l.Rate), count(l.Size))
	switch {
	case l.Rooms.Replay > 0:
		s = fmt.Sprintf("a history of %s messages of %s bytes, read by one newcomer after the other", count(l.Rooms.Replay), count(l.Size))
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
