package gate

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/internal/suggest"
	"weir/lab"
	"weir/lab/subject"
)

//go:embed loads/*.toml
var loads embed.FS

// Loads lists the names of the gate's own loads.
func Loads() []string {
	entries, err := loads.ReadDir("loads")
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}

// ReadLoad returns one of Loads by name, or the load of an experiment file whose path ends in
// ".toml".
func ReadLoad(nameOrFile string) (*lab.Experiment, error) {
	if strings.HasSuffix(nameOrFile, ".toml") {
		return lab.ReadExperiment(nameOrFile)
	}
	if !slices.Contains(Loads(), nameOrFile) {
		return nil, fmt.Errorf("gate: there is no load %q: name one of %s, or the path of a .toml file%s", nameOrFile, strings.Join(Loads(), ", "), suggest.DidYouMean(nameOrFile, Loads()))
	}
	text, err := loads.ReadFile("loads/" + nameOrFile + ".toml")
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	return lab.ParseExperiment(nameOrFile, text)
}

// DefaultLoad returns the name of the load of a subject's first workload, by the path of its
// subject.toml from the current folder; empty if that file is not there or there is no such load.
func DefaultLoad(file string) string {
	s, err := subject.Read(file)
	if file == "" || err != nil || !slices.Contains(Loads(), s.Workloads[0]) {
		return ""
	}
	return s.Workloads[0]
}

// oneCell validates a load, and checks that it has one number of connections and one pattern.
func oneCell(e *lab.Experiment) error {
	if e == nil {
		return errors.New("gate: name a load")
	}
	if err := e.Validate(); err != nil {
		return err
	}
	connections := e.Connections
	if len(e.Loads) == 1 && len(e.Loads[0].Shared().Connections) > 0 {
		connections = e.Loads[0].Shared().Connections
	}
	for what, n := range map[string]int{"loads": len(e.Loads), "numbers of connections": len(connections), "patterns": len(e.Patterns)} {
		if n != 1 {
			return fmt.Errorf("gate: %s has %d %s, and a gate has one: name a file with one", e.Name, n, what)
		}
	}
	if len(e.Saturation) > 0 {
		return fmt.Errorf("gate: %s measures shares of capacity, which a gate cannot: leave saturation out", e.Name)
	}
	if e.Knee != "" {
		return fmt.Errorf("gate: %s searches for a knee, which a gate cannot: leave knee out", e.Name)
	}
	return nil
}
