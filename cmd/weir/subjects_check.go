package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"weir/internal/printable"
	"weir/internal/suggest"
	"weir/lab"
	"weir/lab/contract"
	"weir/lab/subject"
	"weir/lab/workload/http"
)

// checkCmd is "weir lab check".
type checkCmd struct {
	Names   []string `arg:"" optional:"" predictor:"subjects" help:"Subjects (default: all)."`
	Subject []string `help:"Check a server: NAME=COMMAND, as for weir lab run, or the path of its subject.toml." placeholder:"SERVER" sep:"none"`
	Only    []string `predictor:"checks" help:"Only these checks, by name." placeholder:"CHECK,..."`
	JSON    bool     `help:"Print JSON."`
	Verbose bool     `short:"v" help:"Show every check, also those that pass."`

	describedFlags `embed:""`
}

func (c *checkCmd) Help() string {
	return `Builds and starts each subject, talks to it over IPv4 and IPv6, and verifies that every byte arrives once and in order, whatever the clients do. Of an HTTP server it verifies that every request gets its own complete answer. Only servers that pass can be compared.

The checks are ` + strings.Join(checkNames(), ", ") + `.

Examples:

  weir lab check c-epoll
  weir lab check --subject my-server/subject.toml
  weir lab check --get /hello --subject "mine=./server --port {port}"
  weir lab check --get /hello --tls --insecure --subject "mine=./server --port {port}"
  weir lab check --ws /chat --message hello --subject "mine=./server --port {port}"
  weir lab check --grpc /helloworld.Greeter/SayHello --subject "mine=./server --port {port}"
  weir lab check c-fork --only "SIGTERM while busy" -v`
}

// checkNames lists the checks of all workloads.
func checkNames() []string { return contract.Names(lab.ContractKinds()) }

// checked is the JSON form of the checks of a subject.
type checked struct {
	Subject string      `json:"subject"`
	Missing string      `json:"missing,omitempty"` // why nothing was checked
	Failed  int         `json:"failed"`
	Checks  []checkLine `json:"checks"`
}

// checkLine is the outcome of one check, which passed if Error and Skipped are empty.
type checkLine struct {
	Name     string `json:"name"`
	Workload string `json:"workload"`
	Host     string `json:"host"`
	Error    string `json:"error,omitempty"`
	Skipped  string `json:"skipped,omitempty"`
}

func (c *checkCmd) Run(ctx context.Context, t *terminal) error {
	for _, name := range c.Only {
		if known := checkNames(); !slices.Contains(known, name) {
			return usageError{fmt.Errorf("there is no check %q: choose among %s%s", name, strings.Join(known, ", "), suggest.DidYouMean(name, known))}
		}
	}
	kinds, workload, err := c.kinds()
	if err != nil {
		return usageError{err}
	}
	chosen, broken := c.chosen(workload)
	if broken != nil && len(chosen) == 0 {
		return usageError{broken}
	}
	surviveTerminal(ctx)
	var all []checked
	failed := 0
	for _, s := range chosen {
		found := c.checkOne(ctx, t, s, kinds)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if found.Failed > 0 {
			failed++
		}
		all = append(all, found)
		if !c.JSON {
			c.print(t, found)
		}
	}
	if c.JSON {
		broken = errors.Join(broken, t.json(all))
	}
	switch {
	case failed > 0:
		broken = errors.Join(broken, fmt.Errorf("%d of %d subjects violate the contract", failed, len(chosen)))
	case broken == nil && !slices.ContainsFunc(all, checked.any):
		broken = nothingError{errors.New("nothing was checked: each subject lacks something on this machine, or has none of these checks")}
	}
	return broken
}

// kinds returns the contracts, of the load that the flags describe or of all workloads, and the
// workload of servers that are given by a command.
func (c *checkCmd) kinds() ([]contract.Kind, string, error) {
	if err := c.describedFlags.check(); err != nil {
		return nil, "", err
	}
	if c.experiment() == "" {
		return lab.ContractKinds(), http.Requests, nil
	}
	k, workload, err := c.contract()
	return []contract.Kind{k}, workload, err
}

// chosen returns the subjects to be checked, and why others cannot be. A server that is given by a
// command has the workload.
func (c *checkCmd) chosen(workload string) (all []*subject.Subject, broken error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var files []string
	for _, text := range c.Subject {
		switch g := subject.ParseGiven(text); {
		case g.URL != "":
			return nil, fmt.Errorf("%s: a server that runs already is not checked, because its start and its end are: give its command", text)
		case g.Command != "":
			s, err := g.Subject(dir, workload)
			if err != nil {
				return nil, err
			}
			if missing := s.Missing(); missing != "" {
				return nil, fmt.Errorf("the subject %s cannot be started: %s", s.Name, missing)
			}
			all = append(all, s)
		default:
			files = append(files, text)
		}
	}
	if len(all) > 0 && len(c.Names)+len(files) == 0 {
		return all, nil // Select would take an empty list for all subjects
	}
	found, broken := subject.Select(projectRoot(), c.Names, files)
	return append(all, found...), broken
}

// any reports whether a check of the subject was carried out.
func (c checked) any() bool {
	return slices.ContainsFunc(c.Checks, func(line checkLine) bool { return line.Skipped == "" })
}

// checkOne builds and checks a subject, and shows its progress on a terminal.
func (c *checkCmd) checkOne(ctx context.Context, t *terminal, s *subject.Subject, kinds []contract.Kind) checked {
	found := checked{Subject: s.Name, Missing: s.Missing(), Checks: []checkLine{}}
	if found.Missing != "" {
		return found
	}
	t.status("building " + s.Name)
	defer t.status("")
	if err := s.Build(ctx, nil); err != nil {
		found.Failed = 1
		found.Checks = []checkLine{{Name: "build", Error: err.Error()}}
		return found
	}
	t.status("checking " + s.Name)
	began := time.Now()
	contract.Run(ctx, s, kinds, contract.Options{Only: c.Only, Each: func(o contract.Outcome) {
		line := checkLine{Name: o.Name, Workload: o.Workload, Host: o.Host, Skipped: o.Skipped}
		if o.Err != nil {
			line.Error = o.Err.Error()
			found.Failed++
		}
		found.Checks = append(found.Checks, line)
		t.status(fmt.Sprintf("checking %s: %d done in %.0f s, last %s (%s, %s)", s.Name, len(found.Checks),
			time.Since(began).Seconds(), o.Name, o.Workload, o.Host))
	}})
	return found
}

// print writes a line about a subject, and further lines about its failed and skipped checks.
func (c *checkCmd) print(t *terminal, s checked) {
	passed, skips := 0, map[string][]string{} // names by reason
	var reasons []string                      // in the order in which they came
	for _, k := range s.Checks {
		switch {
		case k.Skipped != "":
			if skips[k.Skipped] == nil {
				reasons = append(reasons, k.Skipped)
			}
			if !slices.Contains(skips[k.Skipped], k.Name) {
				skips[k.Skipped] = append(skips[k.Skipped], k.Name)
			}
		case k.Error == "":
			passed++
		}
	}
	switch {
	case s.Missing != "":
		fmt.Fprintf(t.out, "%s  %s: %s\n", tint(t.colour(), yellow, "skipped"), s.Subject, s.Missing)
	case s.Failed > 0:
		fmt.Fprintf(t.out, "%s  %s: %d of %d checks failed\n", tint(t.colour(), red, "FAILED "), s.Subject, s.Failed, s.Failed+passed)
	case passed == 0:
		fmt.Fprintf(t.out, "%s  %s: nothing was checked\n", tint(t.colour(), yellow, "skipped"), s.Subject)
	default:
		fmt.Fprintf(t.out, "%s  %s: all %d checks passed\n", tint(t.colour(), green, "passed "), s.Subject, passed)
	}
	for _, k := range s.Checks {
		switch {
		case k.Error != "":
			fmt.Fprintf(t.out, "         %s: %s\n", k.where(), strings.ReplaceAll(printable.Lines(k.Error), "\n", "\n           "))
		case c.Verbose && k.Skipped == "":
			fmt.Fprintf(t.out, "         %s: passed\n", k.where())
		}
	}
	for _, reason := range reasons {
		fmt.Fprintf(t.out, "         not checked: %s (%s)\n", strings.Join(skips[reason], ", "), reason)
	}
}

func (k checkLine) where() string {
	if k.Workload == "" {
		return k.Name
	}
	return fmt.Sprintf("%s (%s, %s)", k.Name, k.Workload, k.Host)
}
