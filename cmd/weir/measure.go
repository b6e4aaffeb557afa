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
	Duration time.Duration `help:"Stop the command after this time, by SIGTERM, and SIGKILL 2 s later (default: wait for its end)." placeholder:"10s"`
	CPUs     []int         `name:"cpus" help:"Cores that it may use, from 0 (default: all)." placeholder:"0,1"`
	// the flag keeps its published spelling
	Methods bool     `name:"rulers" help:"Also show the results of other CPU accounting methods."`
	JSON    bool     `help:"Print JSON; the output of the command goes to standard error."`
	Command []string `arg:"" passthrough:"" help:"The command and its arguments, after --."`
}

// Help is the long part of the command's help.
func (c *measureCmd) Help() string {
	return `Counts the CPU of the command and of everything that it starts, including children that have exited or gone to the background, and names the accounting method. Processes that are left when the command ends are stopped, unless there is a --duration: then they are measured until it is over.

Examples:

  weir lab measure --duration 10s --rulers -- ./server --port 7000
  weir lab measure --json -- make -j2 | jq .cpu_ns`
}

// methodWindow is the window of the variation and of the other accounting methods, as in the
// published measurement.
const methodWindow = 500 * time.Millisecond

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
	if c.Methods {
		o.MethodsWindow = methodWindow
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
		return usageError{errors.New("lab measure: the command is missing: give it after --")}
	case c.Duration < 0:
		return usageError{fmt.Errorf("lab measure: --duration %v: give a positive duration", c.Duration)}
	}
	if _, err := exec.LookPath(c.Command[0]); err != nil {
		return usageError{fmt.Errorf("lab measure: cannot run the command: %w", err)}
	}
	return nil
}

// verdict returns the error of a command that failed, or that was stopped before its end.
func (c *measureCmd) verdict(ctx context.Context, u sample.Usage) error {
	switch {
	case ctx.Err() != nil:
		return errors.New("the command was stopped; the figures are those until then")
	case u.ExitedByItself && u.ExitError != nil:
		return fmt.Errorf("the command failed: %w", u.ExitError)
	}
	return nil
}

// measurement is the JSON form of a measurement. Names contain units; _percent is of one core.
type measurement struct {
	Command     []string `json:"command"`
	Method      string   `json:"ruler"`       // accounting method
	MethodAbout string   `json:"ruler_about"` // what it counts and what it misses
	CPUNS       int64    `json:"cpu_ns"`
	// what cpu_ns lacks of processes that ended between two samples
	Warning    string  `json:"warning,omitempty"`
	WallNS     int64   `json:"wall_ns"`
	CPUPercent float64 `json:"cpu_percent"`
	// over windows of window_ms; null for fewer than two of them
	CPUCV       *float64        `json:"cpu_cv"`
	WindowMS    int64           `json:"window_ms"`
	PeakRSSKB   int64           `json:"peak_rss_kb"`
	PSSKB       int64           `json:"pss_kb"` // the highest of four samples a second
	Processes   int             `json:"processes"`
	Threads     int             `json:"threads"`
	Voluntary   int64           `json:"voluntary_switches"`
	Involuntary int64           `json:"involuntary_switches"`
	RunQueueNS  int64           `json:"run_queue_ns"`
	MachineNS   int64           `json:"machine_cpu_ns"`
	StealNS     int64           `json:"steal_ns"`
	ExitCode    int             `json:"exit_code"` // -1 when a signal ended it
	Signal      string          `json:"signal,omitempty"`
	ByItself    bool            `json:"ended_by_itself"`
	Killed      int             `json:"killed"` // processes that were killed at the end
	Methods     []methodReading `json:"rulers,omitempty"`
}

// methodReading is the result of another accounting method.
type methodReading struct {
	Name       string  `json:"name"`
	About      string  `json:"about"`
	CPUPercent float64 `json:"cpu_percent"`
	CPUCV      float64 `json:"cpu_cv"`
}

// measured returns the JSON form of what was used.
func measured(command []string, u sample.Usage) measurement {
	m := measurement{Command: command, Method: u.Method.Name, MethodAbout: u.Method.About, CPUNS: int64(u.CPU), Warning: u.UncountedCPU, WallNS: int64(u.Wall),
		CPUPercent: percent(u.CPU, u.Wall), WindowMS: methodWindow.Milliseconds(),
		PeakRSSKB: u.Peak.PeakRSS >> 10, PSSKB: u.Peak.PSS >> 10, Processes: u.Peak.Processes, Threads: u.Peak.Threads,
		Voluntary: u.Peak.Voluntary, Involuntary: u.Peak.Involuntary, RunQueueNS: int64(u.Peak.RunQueueWait),
		MachineNS: int64(u.Machine), StealNS: int64(u.Steal), ByItself: u.ExitedByItself, Killed: u.KilledProcesses}
	var readings []stat.Reading
	for _, p := range u.Points {
		readings = append(readings, stat.Reading{At: p.At.Seconds(), Counter: p.CPU.Seconds()})
	}
	if cv := stat.Variation(readings, methodWindow.Seconds()); !math.IsNaN(cv) {
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
		reading := methodReading{Name: r.Name, About: r.About, CPUPercent: r.Mean()}
		if cv := stat.CV(r.Percents); !math.IsNaN(cv) {
			reading.CPUCV = cv
		}
		m.Methods = append(m.Methods, reading)
	}
	if len(u.OtherMethods) > 0 && u.ExitedByItself {
		m.Methods = append(m.Methods, methodReading{Name: "getrusage of the command and children it waited for",
			About: "exact, but without children that were not waited for", CPUPercent: percent(u.Waited, u.Wall)})
	}
	return m
}

// count formats a number with its noun: one, or more, the ending of the plural.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s%s", n, one, more)
}

func percent(cpu, wall time.Duration) float64 { return 100 * float64(cpu) / float64(max(wall, 1)) }

// print writes the figures as text, each with its unit.
func (m measurement) print(t *terminal) {
	rows := [][2]string{
		{"CPU", fmt.Sprintf("%v, %.2f %% of a core", time.Duration(m.CPUNS).Round(time.Microsecond), m.CPUPercent)},
		{"counted by", m.Method},
		{"", m.MethodAbout},
		{"wall", time.Duration(m.WallNS).Round(time.Millisecond).String()},
		{"memory", fmt.Sprintf("%.1f MB resident (peak), %.1f MB with shared pages divided", float64(m.PeakRSSKB)/1024, float64(m.PSSKB)/1024)},
		{"at most", fmt.Sprintf("%s, %s at once", count(m.Processes, "process", "es"), count(m.Threads, "thread", "s"))},
		{"switches", fmt.Sprintf("%d voluntary, %d involuntary; %v runnable without a core", m.Voluntary, m.Involuntary, time.Duration(m.RunQueueNS).Round(time.Microsecond))},
		{"machine", fmt.Sprintf("%v of CPU in total; %v stolen by the hypervisor", time.Duration(m.MachineNS).Round(time.Millisecond), time.Duration(m.StealNS))},
		{"ended", m.ending()},
	}
	if m.CPUCV != nil {
		rows = slices.Insert(rows, 1, [2]string{"variation", fmt.Sprintf("%.3f in windows of %d ms (standard deviation / mean)", *m.CPUCV, m.WindowMS)})
	}
	if m.Warning != "" {
		rows = slices.Insert(rows, 1, [2]string{"warning", "some CPU was not counted: " + m.Warning})
	}
	bold, plain := "", ""
	if t.colour() {
		bold, plain = "\x1b[1m", "\x1b[0m"
	}
	fmt.Fprintf(t.out, "\n%s%s%s\n", bold, strings.Join(m.Command, " "), plain)
	for _, r := range rows {
		fmt.Fprintf(t.out, "  %-10s  %s\n", r[0], r[1])
	}
	for i, r := range m.Methods {
		if i == 0 {
			fmt.Fprintf(t.out, "\n  other CPU accounting methods, in %% of a core (true value %.2f)\n", m.CPUPercent)
		}
		fmt.Fprintf(t.out, "  %8.2f  %s: %s\n", r.CPUPercent, r.Name, r.About)
	}
}

// ending describes how the command ended.
func (m measurement) ending() string {
	how := "stopped before its end, as requested"
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
