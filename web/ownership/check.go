package ownership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"os/exec"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// Finding is one use of a Conn by code that does not hold it.
type Finding struct {
	Position token.Position
	Message  string
}

// String formats the finding as compilers do: "FILE:LINE:COLUMN: message".
func (f Finding) String() string { return fmt.Sprintf("%s: %s", f.Position, f.Message) }

// Check runs [Analyzer] over packages, tests included, and returns the findings in the order of
// files and lines. dir is the folder that patterns such as "./..." are relative to; tags are build
// tags, such as "webdebug". Check runs the command go. Packages that do not compile are an error.
func Check(ctx context.Context, dir string, tags string, patterns ...string) ([]Finding, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, errors.New("the command go is not on the PATH: install Go, which is needed to load packages")
	}
	fset := token.NewFileSet()
	found, err := packages.Load(&packages.Config{
		Mode: packages.LoadSyntax | packages.NeedModule, Context: ctx, Dir: dir, Fset: fset, Tests: true, BuildFlags: []string{"-tags=" + tags},
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("the packages can't be read: %w", err)
	}
	for _, p := range found {
		if len(p.Errors) > 0 && p.Errors[0].Kind == packages.ListError {
			return nil, fmt.Errorf("no package matches: %s", p.Errors[0].Msg)
		}
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("package %s does not compile: %w", p.PkgPath, p.Errors[0])
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no package has that name")
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{Analyzer}, found, nil)
	if err != nil {
		return nil, err
	}
	var all []Finding
	for _, action := range graph.Roots {
		if action.Err != nil {
			return nil, action.Err
		}
		for _, d := range action.Diagnostics {
			all = append(all, Finding{fset.Position(d.Pos), d.Message})
		}
	}
	slices.SortFunc(all, compare)
	// a file is analyzed with its package, and again with the package's tests
	return slices.Compact(all), nil
}

func compare(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(a.Position.Filename, b.Position.Filename), cmp.Compare(a.Position.Line, b.Position.Line),
		cmp.Compare(a.Position.Column, b.Position.Column), cmp.Compare(a.Message, b.Message))
}
