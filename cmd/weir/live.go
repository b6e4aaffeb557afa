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

// silenceLimit is the longest that a run is silent where its view is not a terminal.
const silenceLimit = 10 * time.Second

// liveView shows a run while it goes on. On a terminal it is redrawn in place; elsewhere it is a
// line for each block, and one every silenceLimit. It owns one goroutine, which close stops.
type liveView struct {
	t       *terminal
	program *tea.Program  // nil where standard error is not a terminal
	stop    chan struct{} // closed by close; no values
	stopped chan struct{} // closed by the view's goroutine
	once    sync.Once

	mu      sync.Mutex // guards what follows, which only the view without a terminal uses
	model   liveModel
	printed time.Time // of the last line
}

func newLiveView(t *terminal) *liveView {
	v := &liveView{t: t, stop: make(chan struct{}), stopped: make(chan struct{}), printed: time.Now()}
	if t.errTTY {
		v.program = tea.NewProgram(liveModel{}, tea.WithOutput(t.err), tea.WithInput(nil), tea.WithoutSignalHandler(), tea.WithFPS(8))
	}
	go func() {
		defer close(v.stopped)
		if v.program != nil {
			v.program.Run() //nolint:errcheck // a view that cannot be drawn must not end the run
			return
		}
		v.breakSilence()
	}()
	return v
}

// breakSilence prints where the run is whenever nothing was printed for silenceLimit.
func (v *liveView) breakSilence() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-v.stop:
			return
		case now := <-tick.C:
			v.mu.Lock()
			if v.model.progress.Phase != "" && now.Sub(v.printed) >= silenceLimit {
				v.printLocked(v.model.line(now))
			}
			v.mu.Unlock()
		}
	}
}

func (v *liveView) printLocked(line string) {
	fmt.Fprintln(v.t.err, line)
	v.printed = time.Now()
}

// show displays p. Only the run's goroutine calls it.
func (v *liveView) show(p lab.Progress) {
	now := time.Now()
	if v.program != nil {
		if stays(p) { // above what is redrawn
			v.program.Send(tea.Printf("%s %s", p.Phase, p.What)())
		} else {
			v.program.Send(progressMsg{p, now})
		}
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	last := v.model.progress
	if !stays(p) {
		v.model = v.model.at(p, now)
	}
	if p.Phase != "trial" || !v.model.explaining && !sameLine(p, last) {
		v.printLocked(lineOf(p, v.model, now))
	}
}

// warn displays a warning, which stays on the screen.
func (v *liveView) warn(text string) {
	if v.program != nil {
		v.program.Send(tea.Printf("%s", tint(v.t.colour(), yellow, "warning: "+text))())
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.printLocked("weir: warning: " + text)
}

// stays reports whether p is news rather than a state of the run.
func stays(p lab.Progress) bool {
	return p.Phase == "leaving out" || p.Phase == "planned:" || p.Phase == "warm-ups:" || p.Phase == "headline:" || p.Phase == "agents:"
}

func lineOf(p lab.Progress, m liveModel, now time.Time) string {
	if p.Phase != "trial" {
		return p.Phase + " " + p.What
	}
	return m.line(now)
}

// sameLine reports whether p and last are in the same block, or in the same step of one subject.
func sameLine(p, last lab.Progress) bool {
	return last.Phase == p.Phase && p.Place.Cell == last.Place.Cell && p.Place.Block == last.Place.Block && p.Step == last.Step && (p.Step == "" || p.What == last.What)
}

// close leaves the terminal as it was. It may be called twice.
func (v *liveView) close() {
	v.once.Do(func() {
		close(v.stop)
		if v.program != nil {
			v.program.Send(clearMsg{})
			v.program.Quit()
		}
	})
	<-v.stopped
}

// progressMsg is progress with its time.
type progressMsg struct {
	lab.Progress
	at time.Time
}

// clearMsg clears the view before its program quits.
type clearMsg struct{}

// tickMsg redraws the view while nothing else happens.
type tickMsg time.Time

func tick() tea.Cmd {
	return tea.Tick(time.Second, func(now time.Time) tea.Msg { return tickMsg(now) })
}

// liveModel is the state of the view.
type liveModel struct {
	progress lab.Progress // the latest
	shownAt  time.Time    // when it came
	phaseAt  time.Time    // when its phase, with this text, began
	trialsAt time.Time    // when the first trial began; zero before it
	doneThen int          // trials that were complete by then, in a resumed run
	rejected string       // the latest rejected trial, with its reason
	cpu      []float64    // of the running trial, in percent of a core, newest last
	now      time.Time
	width    int // of the terminal; 0: unknown
	cleared  bool
	// the trials are over: further progress of trials is that of trials that count system calls
	explaining bool
}

func (m liveModel) Init() tea.Cmd { return tick() }

func (m liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width = msg.Width
	case progressMsg:
		m = m.at(msg.Progress, msg.at)
		m.now = msg.at
	case tickMsg:
		m.now = time.Time(msg)
		return m, tick()
	case clearMsg:
		m.cleared = true
	}
	return m, nil
}

// at returns the model after progress.
func (m liveModel) at(p lab.Progress, now time.Time) liveModel {
	if p.Phase != "trial" && !m.trialsAt.IsZero() {
		m.explaining = true
	}
	if p.Phase == "trial" && m.explaining {
		return m
	}
	if p.Phase != m.progress.Phase || p.Phase != "trial" && p.What != m.progress.What {
		m.phaseAt = now
	}
	if p.Phase == "trial" && m.trialsAt.IsZero() {
		m.trialsAt, m.doneThen = now, p.Done
	}
	if p.Place != m.progress.Place {
		m.cpu = nil
	}
	if p.CPU >= 0 && p.Phase == "trial" {
		m.cpu = append(m.cpu, p.CPU)
		m.cpu = m.cpu[max(0, len(m.cpu)-32):]
	}
	if t := p.Last; t != nil && len(t.RejectedBecause) > 0 {
		m.rejected = fmt.Sprintf("%s: %s", strings.TrimSuffix(t.Subject, result.ControlSuffix), strings.Join(t.RejectedBecause, "; "))
	}
	m.progress, m.shownAt = p, now
	return m
}

// left returns the estimated time to the end of the trials, 0 while it is unknown, and whether the
// estimate is over.
func (m liveModel) left(now time.Time) (left time.Duration, over bool) {
	if m.progress.Remaining <= 0 {
		return 0, false
	}
	left = m.progress.Remaining - now.Sub(m.shownAt)
	return max(left, 0), left <= 0
}

// share returns how much of the trials' time has passed, 0 to 1. Until there is an estimate it
// counts trials.
func (m liveModel) share(now time.Time) float64 {
	p := m.progress
	done := float64(p.Done) / float64(max(p.Total, 1))
	left, over := m.left(now)
	if left == 0 && !over {
		return done
	}
	spent := now.Sub(m.trialsAt)
	before := float64(m.doneThen) / float64(max(p.Total, 1))
	return min(1, max(0, before+(1-before)*float64(spent)/float64(max(spent+left, 1))))
}

// line is the state in one line.
func (m liveModel) line(now time.Time) string {
	p := m.progress
	if p.Phase != "trial" {
		return fmt.Sprintf("%s %s, for %v", p.Phase, p.What, now.Sub(m.phaseAt).Round(time.Second))
	}
	line := fmt.Sprintf("%s: %s%s%s", position(p), describePlace(p), rejections(p), m.remaining(now))
	if m.rejected != "" && p.Rejected > 0 {
		line += "; last rejected: " + m.rejected
	}
	return line
}

func (m liveModel) remaining(now time.Time) string {
	left, over := m.left(now)
	switch {
	case over:
		return ", longer than estimated"
	case left > 0:
		return fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	return ""
}

func (m liveModel) View() tea.View {
	p := m.progress
	switch {
	case m.cleared || p.Phase == "":
		return tea.NewView("")
	case p.Phase != "trial":
		return tea.NewView(clip("  "+m.line(m.now), m.width))
	}
	lines := []string{
		fmt.Sprintf("  %s  %s%s%s", bar(m.share(m.now), 24), position(p), rejections(p), m.remaining(m.now)),
		"  " + describePlace(p),
		"  " + sparkline(m.cpu),
	}
	if t := p.Last; t != nil {
		lines = append(lines, fmt.Sprintf("  last trial: %s, %.1f us of CPU per %s", strings.TrimSuffix(t.Subject, result.ControlSuffix), t.CPUUSPerMessage, p.Unit))
	}
	if m.rejected != "" {
		lines = append(lines, "  last rejected: "+m.rejected)
	}
	for i := range lines {
		lines[i] = clip(lines[i], m.width)
	}
	return tea.NewView(strings.Join(lines, "\n"))
}

// position says which trial runs, and of how many.
func position(p lab.Progress) string {
	if p.AtMost {
		return fmt.Sprintf("trial %d of at most %d", p.Done+1, p.Total)
	}
	return fmt.Sprintf("trial %d of %d", p.Done+1, p.Total)
}

func describePlace(p lab.Progress) string {
	s := fmt.Sprintf("%s, %s, %s, ", p.What, count(p.Place.Connections, "connection", "s"), p.Place.Pattern)
	if p.Unit == "request" { // whose loads differ by more than their arrivals
		s = fmt.Sprintf("%s, %s, ", p.What, p.Place.Load)
	}
	if p.Step != "" {
		return s + fmt.Sprintf("%s: %.0f messages/s", p.Step, p.Rate)
	}
	if n := p.Place.Block - result.FirstHeadlineBlock; n >= 0 {
		return s + fmt.Sprintf("headline's block %d", n+1)
	}
	return s + fmt.Sprintf("block %d", p.Place.Block+1)
}

func rejections(p lab.Progress) string {
	if p.Rejected == 0 {
		return ""
	}
	return fmt.Sprintf(", %d rejected", p.Rejected)
}

// bar draws a share of 0 to 1.
func bar(share float64, width int) string {
	full := min(width, int(share*float64(width)))
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

// clip cuts a line at the width of the terminal.
func clip(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return s
}
