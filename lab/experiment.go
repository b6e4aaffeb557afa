package lab

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"weir/internal/suggest"
	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
)

// An Experiment is a question to be measured: which subjects, under which loads. It is plain data.
// The zero value of a field means its default, which Validate fills in.
type Experiment struct {
	Name    string
	BuiltIn bool // reports whether it is embedded in the lab
	Settings

	// Variants change some of the settings under a name: "quick", "paper", "saturation".
	Variants map[string]map[string]any
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
	BusiestBlocks int `toml:"busiest_blocks"`
	// length of a trial's measured window, 200 ms to 1 h
	Duration workload.Duration `toml:"duration"`
	// sampling window for the coefficient of variation of the CPU, 50 ms to Duration
	Window workload.Duration `toml:"window"`
	// time limit: no further block starts once it is used up; 0: no limit
	TimeLimit workload.Duration `toml:"time"`
	// time limit of a warm-up, counted from when the subject has received the messages that it asks
	// for; 250 ms or more, 0: none
	WarmLimit workload.Duration `toml:"warm_limit"`
	// equivalence margin: ratios within 1+margin count as equivalent, 0.001 to 1
	Margin float64 `toml:"margin"`
	// also read the CPU accounting methods that the figures do not use
	AllAccounting bool `toml:"rulers"`
	// add an A/A control: one subject takes part twice; default true, and false with Saturation
	AAControl *bool `toml:"twin"`
	// the comparison that is tested first and alone
	Headline Headline `toml:"headline"`
	// shares of capacity in percent, measured instead of the loads' own rates; empty: none
	Saturation []int `toml:"saturation"`
	// search for the highest rate that keeps this criterion of the latency, instead of the trials:
	// "p99 < 10ms"; empty: no search
	Knee string `toml:"knee"`
	// of the workload's own type
	Loads []workload.Load `toml:"-" json:"-"`
}

// shortestWindow is the shortest window over which CPU can be accounted for.
const shortestWindow = 200 * time.Millisecond

// shortestWarmUp is the shortest time limit of a warm-up: five progress reports.
const shortestWarmUp = warmMinSteps * progressEvery

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
	// the other settings are decoded, and their errors found, with the loads
	var chosen struct{ Workload string }
	_ = toml.Unmarshal(text, &chosen)
	k, err := kindNamed(cmp.Or(chosen.Workload, kinds[0].name))
	if err != nil {
		return nil, fmt.Errorf("lab: %s: %w", name, err)
	}
	d := document{Name: name}
	if err := k.decode(text, &d); err != nil {
		return nil, fmt.Errorf("lab: %s: %w", name, err)
	}
	e := &Experiment{Name: d.Name, Settings: d.Settings, Variants: d.Variants}
	if err := e.checkHeadline(); err != nil {
		return nil, err
	}
	return e, nil
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
	d := document{Settings: e.Settings}
	other, _ := v["workload"].(string)
	k, err := kindNamed(cmp.Or(other, e.Workload, kinds[0].name))
	if err == nil {
		err = k.decode(text, &d)
	}
	if err != nil {
		return fmt.Errorf("lab: %s: variant %s: %w", e.Name, variant, err)
	}
	e.Settings = d.Settings
	return e.checkHeadline()
}

// SetLoads changes a setting of every load, as if the file had it. It is an error if the workload's
// loads have no such setting.
func (e *Experiment) SetLoads(key string, value any) error {
	for _, l := range e.Loads {
		if err := e.set(l, key, value); err != nil {
			return err
		}
	}
	return nil
}

// set changes a setting of a load, as if the file had it.
func (e *Experiment) set(l workload.Load, key string, value any) error {
	text, err := toml.Marshal(map[string]any{key: value})
	if err != nil {
		return err
	}
	if decodeStrict(text, l) != nil {
		return fmt.Errorf("lab: %s: loads of the workload %s have no setting %s: leave it out", e.Name, e.Workload, key)
	}
	return nil
}

// recorded is an experiment as the head of a run holds it.
type recorded struct {
	Name    string
	BuiltIn bool
	Settings
	Loads    json.RawMessage
	Variants map[string]map[string]any
}

// MarshalJSON implements json.Marshaler.
func (e Experiment) MarshalJSON() ([]byte, error) {
	loads, err := json.Marshal(e.Loads)
	if err != nil {
		return nil, err
	}
	return json.Marshal(recorded{e.Name, e.BuiltIn, e.Settings, loads, e.Variants})
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Experiment) UnmarshalJSON(text []byte) error {
	var r recorded
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	k, err := kindNamed(cmp.Or(r.Workload, kinds[0].name))
	if err != nil {
		return err
	}
	*e = Experiment{Name: r.Name, BuiltIn: r.BuiltIn, Settings: r.Settings, Variants: r.Variants}
	e.Loads, err = k.decodeJSON(r.Loads)
	return err
}

// Validate fills in defaults and reports the first setting that is out of its range.
func (e *Experiment) Validate() error {
	workload.SetDefault(&e.Workload, kinds[0].name)
	k, err := kindNamed(e.Workload)
	if err != nil {
		return fmt.Errorf("lab: %s: %w", e.Name, err)
	}
	e.expandRates()
	e.defaults()
	traits := k.Traits()
	patterns, byLoads := e.patterns()
	for _, check := range []struct {
		ok   bool
		what string
	}{
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
		{len(e.Saturation) == 0 || traits.MaxRate != nil, "saturation: only echoes show whether a subject keeps up: set the workload echo"},
		{len(e.Saturation) == 0 || !*e.AAControl, "saturation: shares of capacity are measured without an A/A control: leave it out"},
		{e.Knee == "" || traits.MaxKnee != nil, "knee: its messages have no latency that a rate could raise: set the workload echo, requests, websocket, grpc or chat"},
		{e.Knee == "" || len(e.Saturation) == 0 && !*e.AAControl, "knee: a search needs no saturation and no A/A control: leave them out"},
		{len(e.Loads) > 0, "load: give at least one [[load]]"},
	} {
		if !check.ok {
			return fmt.Errorf("lab: %s: %s", e.Name, check.what)
		}
	}
	if e.Knee != "" {
		if _, err := load.ParseCriterion(e.Knee); err != nil {
			return fmt.Errorf("lab: %s: knee: %s", e.Name, strings.TrimPrefix(err.Error(), "load: "))
		}
	}
	if what := e.duplicateSetting(); what != "" {
		return fmt.Errorf("lab: %s: %s: name it once", e.Name, what)
	}
	if err := e.validateLoads(); err != nil || e.Knee == "" {
		return err
	}
	e.keepOneRate()
	if patterns, byLoads := e.patterns(); byLoads {
		e.Patterns = patterns
	}
	return nil
}

// duplicateSetting describes a value that is given twice in a list of settings; it is empty if
// there is none. A block would hold four trials of such a subject, and a round two blocks of such a
// cell.
func (e *Experiment) duplicateSetting() string {
	return cmp.Or(workload.Duplicate("subjects", e.Subjects), workload.Duplicate("connections", e.Connections), workload.Duplicate("patterns", e.Patterns), workload.Duplicate("saturation", e.Saturation))
}

func (e *Experiment) defaults() {
	workload.SetDefault(&e.Blocks, 10)
	workload.SetDefault(&e.Duration, workload.Duration(2*time.Second))
	workload.SetDefault(&e.Window, min(e.Duration, workload.Duration(500*time.Millisecond)))
	workload.SetDefault(&e.Margin, 0.05)
	if e.Patterns == nil {
		all, _ := e.patterns()
		e.Patterns = slices.Clone(all)
	}
	if e.AAControl == nil {
		yes := len(e.Saturation) == 0 && e.Knee == ""
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
		p.Loads = append(p.Loads, l.Recorded())
	}
	return p
}

func allKnown(values, known []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(known, v) })
}

func between(d workload.Duration, low, high time.Duration) bool {
	return time.Duration(d) >= low && time.Duration(d) <= high
}

func inRange(values []int, low, high int) bool {
	return !slices.ContainsFunc(values, func(v int) bool { return v < low || v > high })
}

// kind returns the experiment's workload. The experiment must be valid.
func (e *Experiment) kind() kind {
	k, err := kindNamed(e.Workload)
	if err != nil {
		panic(err)
	}
	return k
}

// Unit returns the workload's word for a message: "request", for example. The experiment must be
// valid.
func (e *Experiment) Unit() string {
	one, _ := e.kind().Report().Units()
	return one
}

// units returns the plural of Unit.
func (e *Experiment) units() string {
	_, many := e.kind().Report().Units()
	return many
}

// patterns returns the arrival patterns of the experiment's loads, and whether they determine them.
// Otherwise they are a choice, and each load comes in each chosen one.
func (e *Experiment) patterns() (all []string, byLoads bool) {
	if chosen := e.kind().Traits().Patterns; chosen != nil {
		return chosen, false
	}
	for _, l := range e.Loads {
		if !slices.Contains(all, l.Pattern()) {
			all = append(all, l.Pattern())
		}
	}
	return all, true
}

// patternsOf returns the arrival patterns of a load.
func (e *Experiment) patternsOf(l workload.Load) []string {
	if p := l.Pattern(); p != "" {
		return []string{p}
	}
	return e.Patterns
}

// connectionsOf returns the numbers of connections that meet l.
func (e *Experiment) connectionsOf(l workload.Load) []int {
	if own := l.Shared().Connections; len(own) > 0 {
		return own
	}
	return e.Connections
}
