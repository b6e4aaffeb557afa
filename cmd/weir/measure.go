package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"weir/lab/sample"
	"weir/lab/stat"
)

type measureCmd struct {
	Duration time.Duration `help:"End the command after this time (SIGTERM, and SIGKILL 2 s later). Default: when it ends by itself." placeholder:"10s"`
	CPUs     []int         `name:"cpus" help:"Cores it may use, from 0. Default: all." placeholder:"0,1"`
	Rulers   bool          `help:"Also show what other rulers would have said."`
	JSON     bool          `help:"Print JSON; what the command prints goes to standard error then."`
	Command  []string      `arg:"" passthrough:"" help:"The command and its arguments, after --."`
}

// Help is the long part of the command's help.
func (c *measureCmd) Help() string {
	return `Counts the CPU of the command and of everything that it starts, children that have exited or gone to the
background included, and says by which ruler. Whatever is left when the command ends is ended too, unless
there is a --duration: then it is followed until that is over.

  $ weir lab measure --duration 10s --rulers -- ./server --port 7000
  $ weir lab measure --json -- make -j2 | jq .cpu_ns`
}

// rulerWindow is the window of the variation and of the other rulers, as in the published
// measurement.
const rulerWindow = 500 * time.Millisecond

// Run measures the command and prints what it used.
func (c *measureCmd) Run(ctx context.Context, t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	cmd := exec.Command(c.Command[0], c.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, t.out, t.err
	if c.JSON {
		cmd.Stdout = t.err
	}
	o := sample.Options{Placement: sample.Placement{CPUs: c.CPUs}, Duration: c.Duration}
	if c.Rulers {
		o.MethodsWindow = rulerWindow
	}
	u, err := sample.Measure(ctx, cmd, o)
	if u.Wall == 0 { // it never ran
		return err
	}
	m := measured(c.Command, u)
	if c.JSON {
		err = errors.Join(err, t.json(m))
	} else {
		m.print(t)
	}
	return errors.Join(err, c.verdict(ctx, u))
}

func (c *measureCmd) check() error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	switch {
	case len(c.Command) == 0:
		return usageError{errors.New("lab measure: no command: give one after --")}
	case c.Duration < 0:
		return usageError{fmt.Errorf("lab measure: --duration %v: a time over 0 is needed", c.Duration)}
	}
	if _, err := exec.LookPath(c.Command[0]); err != nil {
		return usageError{fmt.Errorf("lab measure: the command can't be run: %w", err)}
	}
	return nil
}

// verdict is the error that the command's own end amounts to.
func (c *measureCmd) verdict(ctx context.Context, u sample.Usage) error {
	switch {
	case ctx.Err() != nil:
		return errors.New("the command was ended, the figures go up to there")
	case u.ExitedByItself && u.ExitError != nil:
		return fmt.Errorf("the command ended with %w", u.ExitError)
	}
	return nil
}

// measurement is what lab measure prints as JSON. Units stand in the names; _percent are of one
// core.
type measurement struct {
	Command    []string `json:"command"`
	Ruler      string   `json:"ruler"`
	RulerAbout string   `json:"ruler_about"` // what it counts and what it misses
	CPUNS      int64    `json:"cpu_ns"`
	// what cpu_ns does not hold of processes that ended unseen
	Warning    string  `json:"warning,omitempty"`
	WallNS     int64   `json:"wall_ns"`
	CPUPercent float64 `json:"cpu_percent"`
	// over windows of window_ms; null for fewer than two of them
	CPUCV       *float64       `json:"cpu_cv"`
	WindowMS    int64          `json:"window_ms"`
	PeakRSSKB   int64          `json:"peak_rss_kb"`
	PSSKB       int64          `json:"pss_kb"` // the most seen, four looks a second
	Processes   int            `json:"processes"`
	Threads     int            `json:"threads"`
	Voluntary   int64          `json:"voluntary_switches"`
	Involuntary int64          `json:"involuntary_switches"`
	RunQueueNS  int64          `json:"run_queue_ns"`
	MachineNS   int64          `json:"machine_cpu_ns"`
	StealNS     int64          `json:"steal_ns"`
	ExitCode    int            `json:"exit_code"` // -1 when a signal ended it
	Signal      string         `json:"signal,omitempty"`
	ByItself    bool           `json:"ended_by_itself"`
	Killed      int            `json:"killed"` // processes that had to be killed at the end
	Rulers      []rulerReading `json:"rulers,omitempty"`
}

// rulerReading is what another ruler said.
type rulerReading struct {
	Name       string  `json:"name"`
	About      string  `json:"about"`
	CPUPercent float64 `json:"cpu_percent"`
	CPUCV      float64 `json:"cpu_cv"`
}

func measured(command []string, u sample.Usage) measurement {
	m := measurement{Command: command, Ruler: u.Method.Name, RulerAbout: u.Method.About, CPUNS: int64(u.CPU), Warning: u.UncountedCPU, WallNS: int64(u.Wall),
		CPUPercent: percent(u.CPU, u.Wall), WindowMS: rulerWindow.Milliseconds(),
		PeakRSSKB: u.Peak.PeakRSS >> 10, PSSKB: u.Peak.PSS >> 10, Processes: u.Peak.Processes, Threads: u.Peak.Threads,
		Voluntary: u.Peak.Voluntary, Involuntary: u.Peak.Involuntary, RunQueueNS: int64(u.Peak.RunQueueWait),
		MachineNS: int64(u.Machine), StealNS: int64(u.Steal), ByItself: u.ExitedByItself, Killed: u.KilledProcesses}
	var readings []stat.Reading
	for _, p := range u.Points {
		readings = append(readings, stat.Reading{At: p.At.Seconds(), Counter: p.CPU.Seconds()})
	}
	if cv := stat.Variation(readings, rulerWindow.Seconds()); !math.IsNaN(cv) {
		m.CPUCV = &cv
	}
	var exit *exec.ExitError
	if errors.As(u.ExitError, &exit) {
		m.ExitCode = exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			m.Signal = status.Signal().String()
		}
	}
	for _, r := range u.OtherMethods {
		reading := rulerReading{Name: r.Name, About: r.About, CPUPercent: r.Mean()}
		if cv := stat.CV(r.Percents); !math.IsNaN(cv) {
			reading.CPUCV = cv
		}
		m.Rulers = append(m.Rulers, reading)
	}
	if len(u.OtherMethods) > 0 && u.ExitedByItself {
		m.Rulers = append(m.Rulers, rulerReading{Name: "getrusage of the command and children it waited for",
			About: "exact, but children that nobody waited for are missing", CPUPercent: percent(u.Waited, u.Wall)})
	}
	return m
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s%s", n, one, more)
}

func percent(cpu, wall time.Duration) float64 { return 100 * float64(cpu) / float64(max(wall, 1)) }

// print writes the figures for people, each with its unit.
func (m measurement) print(t *terminal) {
	rows := [][2]string{
		{"CPU", fmt.Sprintf("%v, %.2f %% of a core", time.Duration(m.CPUNS).Round(time.Microsecond), m.CPUPercent)},
		{"counted by", m.Ruler},
		{"", m.RulerAbout},
		{"wall", time.Duration(m.WallNS).Round(time.Millisecond).String()},
		{"memory", fmt.Sprintf("%.1f MB resident at its peak, %.1f MB with shared pages divided", float64(m.PeakRSSKB)/1024, float64(m.PSSKB)/1024)},
		{"at most", fmt.Sprintf("%s, %s at once", count(m.Processes, "process", "es"), count(m.Threads, "thread", "s"))},
		{"switches", fmt.Sprintf("%d waited, %d made to yield; %v ready without a core", m.Voluntary, m.Involuntary, time.Duration(m.RunQueueNS).Round(time.Microsecond))},
		{"machine", fmt.Sprintf("%v of CPU in all; %v taken by the hypervisor", time.Duration(m.MachineNS).Round(time.Millisecond), time.Duration(m.StealNS))},
		{"ended", m.ending()},
	}
	if m.CPUCV != nil {
		rows = slices.Insert(rows, 1, [2]string{"variation", fmt.Sprintf("%.3f in windows of %d ms (standard deviation / mean)", *m.CPUCV, m.WindowMS)})
	}
	if m.Warning != "" {
		rows = slices.Insert(rows, 1, [2]string{"warning", "not all CPU was counted: " + m.Warning})
	}
	bold, plain := "", ""
	if t.colour() {
		bold, plain = "\x1b[1m", "\x1b[0m"
	}
	fmt.Fprintf(t.out, "\n%s%s%s\n", bold, strings.Join(m.Command, " "), plain)
	for _, r := range rows {
		fmt.Fprintf(t.out, "  %-10s  %s\n", r[0], r[1])
	}
	for i, r := range m.Rulers {
		if i == 0 {
			fmt.Fprintf(t.out, "\n  what other rulers say, in %% of a core (the truth is %.2f)\n", m.CPUPercent)
		}
		fmt.Fprintf(t.out, "  %8.2f  %s: %s\n", r.CPUPercent, r.Name, r.About)
	}
}

func (m measurement) ending() string {
	how := "as asked, before it was done"
	switch {
	case m.ByItself && m.Signal != "":
		how = "by a signal: " + m.Signal
	case m.ByItself:
		how = fmt.Sprintf("by itself with exit status %d", m.ExitCode)
	}
	if m.Killed > 0 {
		how += fmt.Sprintf("; %d of its processes ignored SIGTERM for 2 s and were killed", m.Killed)
	}
	return how
}
