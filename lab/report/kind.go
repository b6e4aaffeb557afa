package report

import (
	"fmt"
	"slices"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// kind is what is particular to the reports on a workload: what they contain, and how they name it.
type kind interface {
	// sections returns all sections that a report can have, the most important first.
	sections() []section
	// answer returns the answer of a run with accepted trials.
	answer() []string
	// mainFigure returns the figure of the answer; nil if nothing was measured there.
	mainFigure() *figure.Figure
	// busiest returns the groups that figures and sentences on one load use. There is a trial.
	busiest() []*group
	// caption identifies a group for readers: "64 connections, staggered".
	caption(g *group) string
	// describe describes a load: "125 messages/s of 1,000 bytes per connection".
	describe(l result.Load) string
	// screen writes the groups for a terminal.
	screen(s *screen)
	// tex returns the tables for LaTeX.
	tex() []byte
	// reasonBlocks returns what the reasons for the cost have besides their tables.
	reasonBlocks() []block
	// lowestMeaning explains a multiple of 1 in a run without a floor.
	lowestMeaning() string
	// secondCorrection is the correction of the metrics that are compared beside CPU.
	secondCorrection() string
	// aboutTitle is the title of the subjects' descriptions.
	aboutTitle() string
	// workLimitation compares the subjects' work with that of a real server.
	workLimitation() string
}

func kindOf(d *digest) kind {
	messages := onMessages{d}
	switch {
	case d.Plan.HTTP():
		return onRequests{messages}
	case d.Plan.Chat():
		return onDeliveries{messages}
	case d.Plan.Stack():
		return onOperations{messages}
	}
	return messages
}

// onMessages are reports on streams. Those on the other workloads replace what differs.
type onMessages struct{ *digest }

func (d onMessages) sections() []section {
	return []section{
		d.publishedSection(), d.detailSection(), d.orderSection(), d.connectionsSection(), d.saturationSection(), d.ratiosSection(), d.controlSection(),
		d.rejectionsSection(), d.floorSection(), d.memorySection(), d.tableSection(), d.timeSection(), d.trialsSection(), d.accountingSection(), d.windowsSection(),
		d.questionsSection(), d.subjectsSection(), d.offeredSection(), d.coldSection(), d.machineSection(), d.limitationsSection(), d.commandSection(),
	}
}

func (d onMessages) answer() []string {
	if d.asPublished() {
		return d.publishedAnswer()
	}
	return slices.Concat(d.cpuSentences(), []string{d.stabilitySentence()})
}

func (d onMessages) mainFigure() *figure.Figure { return d.mainCPU() }

func (d onMessages) busiest() []*group {
	load := d.groups[0].load
	return d.groupsAt(load, slices.Max(d.connections(load)))
}

func (d onMessages) caption(g *group) string {
	s := conns(g.connections) + ", " + patternName(g.pattern)
	if len(d.loads()) > 1 {
		s += ", load " + g.load
	}
	return s
}

func (d onMessages) describe(l result.Load) string { return describeMessages(l) }

func (d onMessages) screen(s *screen) {
	for _, g := range d.groups {
		s.table(d.digest, g, "CPU per "+d.unit()+", lowest first")
	}
}

func (d onMessages) tex() []byte { return d.texMessages() }

func (d onMessages) reasonBlocks() []block { return d.eventBlocks() }

func (d onMessages) lowestMeaning() string {
	return "the lowest CPU of this run; a floor such as c-splice would use less"
}

func (d onMessages) secondCorrection() string { return d.correction(result.MetricCV) }

func (d onMessages) aboutTitle() string { return "How each subject handles a " + d.unit() }

func (d onMessages) workLimitation() string {
	return "A server that only transfers bytes is not a service. One that parses, stores or computes uses most of its CPU for that, and the share of the concurrency model is smaller: --work-us and --wait-ms show by how much."
}

// onDeliveries are reports on chat servers, whose connections are members of a room.
type onDeliveries struct{ onMessages }

func (d onDeliveries) sections() []section { return d.roomSections() }

func (d onDeliveries) caption(g *group) string {
	return fmt.Sprintf("%s, %s", g.load, members(g.connections))
}

func (d onDeliveries) describe(l result.Load) string { return describeRooms(l) }

// onRequests are reports on web servers. A load has one arrival pattern.
type onRequests struct{ onMessages }

func (d onRequests) sections() []section { return d.requestSections() }

func (d onRequests) answer() []string { return d.requestsAnswer() }

func (d onRequests) busiest() []*group { return d.representative() }

func (d onRequests) caption(g *group) string {
	return fmt.Sprintf("%s, %s", g.load, conns(g.connections))
}

func (d onRequests) describe(l result.Load) string { return describeRequests(l) }

func (d onRequests) screen(s *screen) { s.requests(d.digest) }

func (d onRequests) tex() []byte {
	if len(d.groups) == 0 {
		return d.texMessages()
	}
	return d.texRequests()
}

func (d onRequests) reasonBlocks() []block { return nil }

func (d onRequests) lowestMeaning() string { return "the lowest CPU of this run" }

func (d onRequests) workLimitation() string {
	return "One small file, requested repeatedly, is not a web site: it is always cached. These figures do not include many files, large files, TLS or slow clients."
}

// onOperations are reports on TCP/IP stacks.
type onOperations struct{ onMessages }

func (d onOperations) sections() []section { return d.stackSections() }

func (d onOperations) answer() []string { return d.stacksAnswer() }

func (d onOperations) mainFigure() *figure.Figure { return d.mainOperation() }

func (d onOperations) caption(g *group) string {
	return fmt.Sprintf("%s, %s", g.load, d.clients(g))
}

func (d onOperations) describe(l result.Load) string { return describeOperation(l) }

func (d onOperations) screen(s *screen) { s.operations(d.digest) }

func (d onOperations) tex() []byte {
	if len(d.groups) == 0 {
		return d.texMessages()
	}
	return d.texStacks()
}

func (d onOperations) secondCorrection() string {
	return d.correction(result.MetricRate) + " " + d.correction(result.MetricLatency)
}

func (d onOperations) aboutTitle() string { return "Descriptions of the subjects" }
