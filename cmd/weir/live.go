package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"weir/lab"
	"weir/lab/result"
)

// liveView shows a run while it goes on: redrawn in place on a terminal, a line for each block
// elsewhere. Its program is one goroutine, which close ends and waits for.
type liveView struct {
	t       *terminal
	program *tea.Program
	over    chan struct{} // closed by the program's goroutine
	once    sync.Once
	last    lab.Progress
}

func newLiveView(t *terminal) *liveView {
	v := &liveView{t: t, over: make(chan struct{})}
	if !t.errTTY {
		close(v.over)
		return v
	}
	v.program = tea.NewProgram(liveModel{}, tea.WithOutput(t.err), tea.WithInput(nil), tea.WithoutSignalHandler(), tea.WithFPS(8))
	go func() {
		defer close(v.over)
		v.program.Run() //nolint:errcheck // a view that cannot be drawn must not end the run
	}()
	return v
}

// show draws p. Called by the run's goroutine alone.
func (v *liveView) show(p lab.Progress) {
	switch {
	case v.program != nil && (p.Phase == "leaving out" || p.Phase == "planned:" || p.Phase == "warm-ups:"):
		// stays above what is redrawn
		v.program.Send(tea.Printf("%s %s", p.Phase, p.What)())
	case v.program != nil:
		v.program.Send(p)
	case p.Phase != "trial":
		fmt.Fprintf(v.t.err, "%s %s\n", p.Phase, p.What)
	case !sameLine(p, v.last):
		v.last = p
		fmt.Fprintf(v.t.err, "trial %d of %d: %s%s\n", p.Done+1, p.Total, describePlace(p), remaining(p))
	}
}

// sameLine says whether what is said of a block, or of a step of one subject, holds for p and last
// alike.
func sameLine(p, last lab.Progress) bool {
	return p.Place.Cell == last.Place.Cell && p.Place.Block == last.Place.Block && p.Step == last.Step && (p.Step == "" || p.What == last.What)
}

// close leaves the terminal as it was. Safe to call twice.
func (v *liveView) close() {
	v.once.Do(func() {
		if v.program != nil {
			v.program.Send(ending{})
			v.program.Quit()
		}
	})
	<-v.over
}

// ending clears the view before its program quits.
type ending struct{}

// liveModel is the view's state: the last progress, and the running trial's CPU so far.
type liveModel struct {
	now   lab.Progress
	cpu   []float64 // percent of a core, newest last
	width int
	quit  bool
}

func (m liveModel) Init() tea.Cmd { return nil }

func (m liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width = msg.Width
	case lab.Progress:
		if msg.Place != m.now.Place {
			m.cpu = nil
		}
		if msg.CPU >= 0 {
			m.cpu = append(m.cpu, msg.CPU)
			m.cpu = m.cpu[max(0, len(m.cpu)-32):]
		}
		m.now = msg
	case ending:
		m.quit = true
	}
	return m, nil
}

func (m liveModel) View() tea.View {
	p := m.now
	switch {
	case m.quit || p.Phase == "":
		return tea.NewView("")
	case p.Phase != "trial":
		return tea.NewView(clip(fmt.Sprintf("  %s %s", p.Phase, p.What), m.width))
	}
	lines := []string{
		fmt.Sprintf("  %s  trial %d of %d%s%s", bar(p.Done, p.Total, 24), p.Done+1, p.Total, refused(p), remaining(p)),
		"  " + describePlace(p),
		"  " + sparkline(m.cpu),
	}
	if t := p.Last; t != nil {
		lines = append(lines, fmt.Sprintf("  before it: %s, %.1f us of CPU a %s", strings.TrimSuffix(t.Subject, result.TwinSuffix), t.CPUUSPerMessage, p.Unit))
	}
	for i := range lines {
		lines[i] = clip(lines[i], m.width)
	}
	return tea.NewView(strings.Join(lines, "\n"))
}

func describePlace(p lab.Progress) string {
	plural := "s"
	if p.Place.Connections == 1 {
		plural = ""
	}
	s := fmt.Sprintf("%s, %d connection%s, %s, ", p.What, p.Place.Connections, plural, p.Place.Pattern)
	if p.Unit == "request" { // whose loads differ by more than their arrivals
		s = fmt.Sprintf("%s, %s, ", p.What, p.Place.Load)
	}
	if p.Step != "" {
		return s + fmt.Sprintf("%s: %.0f messages/s", p.Step, p.Rate)
	}
	return s + fmt.Sprintf("block %d", p.Place.Block+1)
}

func refused(p lab.Progress) string {
	if p.Refused == 0 {
		return ""
	}
	return fmt.Sprintf(", %d refused", p.Refused)
}

func remaining(p lab.Progress) string {
	if p.Remaining <= 0 {
		return ""
	}
	return fmt.Sprintf(", about %v left", p.Remaining.Round(time.Second))
}

func bar(done, total, width int) string {
	full := 0
	if total > 0 {
		full = min(width, width*done/total)
	}
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// sparkline draws CPU in percent of a core, the scale from zero to the largest value shown.
func sparkline(values []float64) string {
	if len(values) == 0 {
		return "starting"
	}
	highest := 0.1
	for _, v := range values {
		highest = max(highest, v)
	}
	var b strings.Builder
	for _, v := range values {
		b.WriteRune([]rune("▁▂▃▄▅▆▇█")[min(7, int(8*v/highest))])
	}
	return fmt.Sprintf("%s  %.1f %% of a core", b.String(), values[len(values)-1])
}

func clip(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return s
}
