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

// Finding is one place where a Conn is touched by somebody who does not hold it.
type Finding struct {
	Place   token.Position
	Message string
}

// String is the finding as compilers write theirs: "FILE:LINE:COLUMN: what is wrong".
func (f Finding) String() string { return fmt.Sprintf("%s: %s", f.Place, f.Message) }

// Check runs [Analyzer] over packages, tests included, and gives what it finds in the order of
// files and lines. Dir is the folder that patterns such as "./..." are relative to; tags are build
// tags, such as "webdebug". It needs the command go. Packages that do not compile are an error.
func Check(ctx context.Context, dir string, tags string, patterns ...string) ([]Finding, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, errors.New("the command go is not on the PATH, and it is what finds and reads packages: install Go")
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
			return nil, fmt.Errorf("there is no package to read: %s", p.Errors[0].Msg)
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
	return slices.Compact(all), nil // a file is read with its package, and again with its tests
}

func compare(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(a.Place.Filename, b.Place.Filename), cmp.Compare(a.Place.Line, b.Place.Line),
		cmp.Compare(a.Place.Column, b.Place.Column), cmp.Compare(a.Message, b.Message))
}
