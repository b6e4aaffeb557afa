package lab

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"weir/internal/suggest"
	"weir/lab/load"
	"weir/lab/result"
)

// An Experiment is a question to be measured: which subjects, under which loads. It is plain data.
// The zero value of a field means its default, which Validate fills in.
type Experiment struct {
	Name    string `toml:"name"`
	BuiltIn bool   `toml:"-"` // reports whether it is embedded in the lab
	Settings

	// Variants change some of the settings under a name: "quick", "paper", "saturation".
	Variants map[string]map[string]any `toml:"variant"`
}

// Settings are the part of an experiment that a variant, or a flag, may change.
type Settings struct {
	Question string `toml:"question"` // the question in one sentence
	// sink or echo; page, files or proxy, whose messages are HTTP requests; chat, whose messages
	// are deliveries; stack, whose messages are operations
	Workload string `toml:"workload"`
	// names of subjects; those that cannot run on this machine are skipped with a reason
	Subjects []string `toml:"subjects"`
	// numbers of sending connections, each 0 to 60,000; 0 only where short connections make the
	// load
	Connections []int `toml:"connections"`
	// staggered, together, poisson; page, files, proxy, chat and stack derive it from their loads
	Patterns []string `toml:"patterns"`
	Blocks   int      `toml:"blocks"` // palindromic blocks per cell, 1 to 1,000
	// blocks in the cells with the most connections; used where it is more than Blocks
	BusiestBlocks int      `toml:"busiest_blocks"`
	Duration      Duration `toml:"duration"` // length of a trial's measured window, 200 ms to 1 h
	// sampling window for the coefficient of variation of the CPU, 50 ms to Duration
	Window Duration `toml:"window"`
	// time limit: no further block starts once it is used up; 0: no limit
	TimeLimit Duration `toml:"time"`
	// time limit of a warm-up, counted from when the subject has received the messages that it asks
	// for; 250 ms or more, 0: none
	WarmLimit Duration `toml:"warm_limit"`
	// equivalence margin: ratios within 1+margin count as equivalent, 0.001 to 1
	Margin float64 `toml:"margin"`
	// also read the CPU accounting methods that the figures do not use
	AllAccounting bool `toml:"rulers"`
	// add an A/A control: one subject takes part twice; default true, and false with Saturation
	AAControl *bool `toml:"twin"`
	// shares of capacity in percent, measured instead of the loads' own rates; empty: none
	Saturation []int  `toml:"saturation"`
	Loads      []Load `toml:"load"`
}

// shortestWindow is the shortest window over which CPU can be accounted for.
const shortestWindow = 200 * time.Millisecond

// shortestWarmUp is the shortest time limit of a warm-up: five progress reports.
const shortestWarmUp = warmMinSteps * progressEvery

// Duration is a time.Duration that reads Go's notation ("1.5s") from a file.
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

//go:embed experiments/*.toml
var builtin embed.FS

// Builtin lists the names of the experiments that are embedded in the lab.
func Builtin() []string {
	entries, err := builtin.ReadDir("experiments")
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}

// ReadExperiment reads a built-in experiment by name, or one from a file whose path ends in .toml.
func ReadExperiment(nameOrFile string) (*Experiment, error) {
	if strings.HasSuffix(nameOrFile, ".toml") {
		b, err := os.ReadFile(nameOrFile)
		if err != nil {
			return nil, fmt.Errorf("lab: cannot read the experiment: %w", err)
		}
		return ParseExperiment(nameOrFile, b)
	}
	b, err := builtin.ReadFile("experiments/" + nameOrFile + ".toml")
	if err != nil {
		return nil, fmt.Errorf("lab: there is no experiment %q: name one of %s, or the path of a .toml file%s", nameOrFile, strings.Join(Builtin(), ", "), suggest.DidYouMean(nameOrFile, Builtin()))
	}
	e, err := ParseExperiment(nameOrFile, b)
	if err == nil {
		e.BuiltIn = true
	}
	return e, err
}

// ParseExperiment parses the text of an experiment file. Unknown keys are errors, and errors give
// the line. The experiment is not yet validated, because flags may still change it.
func ParseExperiment(name string, text []byte) (*Experiment, error) {
	var e Experiment
	if err := decodeStrict(text, &e); err != nil {
		return nil, fmt.Errorf("lab: %s: %w", name, err)
	}
	if e.Name == "" {
		e.Name = name
	}
	return &e, nil
}

// Apply changes the settings to those of the named variant.
func (e *Experiment) Apply(variant string) error {
	v, ok := e.Variants[variant]
	if !ok {
		return fmt.Errorf("lab: the experiment %s has no %s form: add a [variant.%s] table to it, or leave --%s out", e.Name, variant, variant, variant)
	}
	text, err := toml.Marshal(v)
	if err != nil {
		return err
	}
	if err := decodeStrict(text, &e.Settings); err != nil {
		return fmt.Errorf("lab: %s: variant %s: %w", e.Name, variant, err)
	}
	return nil
}

// decodeStrict decodes TOML and rejects keys that v does not have. The error gives the line and the
// key.
func decodeStrict(text []byte, v any) error {
	d := toml.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		return fmt.Errorf("line %d: there is no setting %q: remove it or correct its name", row, strings.Join(strict.Errors[0].Key(), "."))
	}
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		row, column := syntax.Position()
		return fmt.Errorf("line %d, column %d: %w", row, column, err)
	}
	return err
}

// Validate fills in defaults and reports the first setting that is out of its range.
func (e *Experiment) Validate() error {
	e.defaults()
	patterns, byLoads := e.patterns()
	for _, check := range []struct {
		ok   bool
		what string
	}{
		{slices.Contains(workloadNames, e.Workload), "workload: must be sink, echo, page, files, proxy, chat or stack"},
		{len(e.Connections) > 0 && inRange(e.Connections, 0, load.MaxConnections), fmt.Sprintf("connections: must be numbers from 0 to %d", load.MaxConnections)},
		{!byLoads || inRange(e.Connections, 1, load.MaxConnections), "connections: requests, rooms and stacks need one at least"},
		{!byLoads || slices.Equal(e.Patterns, patterns), "patterns: requests, deliveries and operations come as their loads say: leave patterns out"},
		{len(e.Patterns) > 0 && allKnown(e.Patterns, patterns), "patterns: must be among " + strings.Join(patterns, ", ")},
		{e.Blocks >= 1 && e.Blocks <= 1000, "blocks: must be from 1 to 1000"},
		{e.BusiestBlocks >= 0 && e.BusiestBlocks <= 1000, "busiest_blocks: must be from 0 to 1000"},
		{between(e.Duration, shortestWindow, time.Hour), "duration: must be from 200ms to 1h"},
		{between(e.Window, 50*time.Millisecond, time.Duration(e.Duration)), "window: must be from 50ms to the duration"},
		{between(e.TimeLimit, 0, 1000*time.Hour), "time: must not be negative"},
		{e.WarmLimit == 0 || between(e.WarmLimit, shortestWarmUp, time.Hour), "warm_limit: must be from 250ms to 1h"},
		{e.Margin >= 0.001 && e.Margin <= 1, "margin: must be from 0.001 to 1"},
		{inRange(e.Saturation, 1, 100), "saturation: shares must be from 1 to 100 percent"},
		{len(e.Saturation) == 0 || e.Workload == "echo", "saturation: only echoes show whether a subject keeps up: set the workload echo"},
		{len(e.Saturation) == 0 || !*e.AAControl, "saturation: shares of capacity are measured without an A/A control: leave it out"},
		{len(e.Loads) > 0, "load: give at least one [[load]]"},
	} {
		if !check.ok {
			return fmt.Errorf("lab: %s: %s", e.Name, check.what)
		}
	}
	if what := e.duplicateSetting(); what != "" {
		return fmt.Errorf("lab: %s: %s: name it once", e.Name, what)
	}
	return e.validateLoads()
}

// duplicateSetting describes a value that is given twice in a list of settings; it is empty if
// there is none. A block would hold four trials of such a subject, and a round two blocks of such a
// cell.
func (e *Experiment) duplicateSetting() string {
	return cmp.Or(duplicate("subjects", e.Subjects), duplicate("connections", e.Connections), duplicate("patterns", e.Patterns), duplicate("saturation", e.Saturation))
}

func duplicate[T comparable](setting string, values []T) string {
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return fmt.Sprintf("%s: %v is given twice", setting, v)
		}
	}
	return ""
}

func (e *Experiment) defaults() {
	setDefault(&e.Workload, "sink")
	setDefault(&e.Blocks, 10)
	setDefault(&e.Duration, Duration(2*time.Second))
	setDefault(&e.Window, min(e.Duration, Duration(500*time.Millisecond)))
	setDefault(&e.Margin, 0.05)
	if e.Patterns == nil {
		all, _ := e.patterns()
		e.Patterns = slices.Clone(all)
	}
	if e.AAControl == nil {
		yes := len(e.Saturation) == 0
		e.AAControl = &yes
	}
	e.Window = min(e.Window, e.Duration)
}

// plan returns the experiment's share of the results.
func (e *Experiment) plan() result.Plan {
	p := result.Plan{
		Workload: e.Workload, Connections: e.Connections, Patterns: e.Patterns, Blocks: e.Blocks, BusiestBlocks: e.BusiestBlocks,
		DurationS: time.Duration(e.Duration).Seconds(), WindowMS: float64(time.Duration(e.Window).Milliseconds()), Margin: e.Margin,
	}
	for _, l := range e.Loads {
		p.Loads = append(p.Loads, l.result())
	}
	return p
}

func allKnown(values, known []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(known, v) })
}

func between(d Duration, low, high time.Duration) bool {
	return time.Duration(d) >= low && time.Duration(d) <= high
}

func inRange(values []int, low, high int) bool {
	return !slices.ContainsFunc(values, func(v int) bool { return v < low || v > high })
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
