package chat

import (
	"fmt"
	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/report/paper"
	"weir/lab/result"
)

// Report is the kind of reports on chat servers, whose connections are members of a room.
type Report struct{}

// digest is a run of rooms with the subjects that correspond to the published programs.
type digest struct{ paper.Run }

func digestOf(d *report.Digest) digest {
	return digest{paper.RunOf(d, []string{"chat-chatd"}, []string{"chat-weir-goroutine"})}
}

// Units returns the words for a delivery.
func (Report) Units() (one, many string) { return "delivery", "deliveries" }

// Caption identifies a group: "talk, 64 members".
func (Report) Caption(_ *report.Digest, g *report.Group) string {
	return g.Load + ", " + members(g.Connections)
}

func members(n int) string { return format.Plural(n, "member", "members") }

// Busiest returns the groups with the most members of the first load.
func (Report) Busiest(d *report.Digest) []*report.Group { return d.MostConnected() }

// Answer compares the servers by CPU and its variation.
func (Report) Answer(d *report.Digest) report.Answer { return digestOf(d).Answer() }

// Sections returns the sections of a report.
func (Report) Sections(d *report.Digest) []report.Section {
	run := digestOf(d)
	return []report.Section{
		run.roomsSection(), run.deliverySection(), run.loopsSection(), run.ConnectionsSection(), d.SweepSection("connections"), d.RatiosSection(result.MetricCV), d.ControlSection(), d.RejectionsSection(), d.MemorySection(),
		run.TableSection(), d.TimeSection(), d.TrialsSection(), d.AccountingSection(), d.WindowsSection(),
		d.SubjectsSection("How each subject handles a delivery"), d.OfferedSection(), d.ColdSection(), d.MachineSection(),
		d.LimitationsSection("Connections are plain TCP and stay open: these figures do not include TLS, nor members who join and leave, except the new members of a replay."),
		d.CommandSection(),
	}
}

// Summary returns the ranking of each group.
func (Report) Summary(d *report.Digest) []*report.Table { return d.RankSummaries(d.Groups) }

// TeX returns the paper's tables.
func (Report) TeX(d *report.Digest) []report.TeXTable { return digestOf(d).TeX() }

// Describe describes a load: "7.8 messages/s of 80 bytes per member".
func (Report) Describe(l result.Load) string {
	s := fmt.Sprintf("%s messages/s of %s bytes per member", format.Short(l.Rate), format.Count(l.Size))
	switch {
	case l.Rooms.Replay > 0:
		s = fmt.Sprintf("a history of %s messages of %s bytes, read by one new member after the other", format.Count(l.Rooms.Replay), format.Count(l.Size))
	case l.Rate == 0:
		s = fmt.Sprintf("a closed loop of messages of %s bytes", format.Count(l.Size))
	}
	if l.Idle > 0 {
		s += fmt.Sprintf(", %s idle", format.Connections(l.Idle))
	}
	if l.Rooms.Caps != "" {
		s += ", with " + l.Rooms.Caps
	}
	return s
}
