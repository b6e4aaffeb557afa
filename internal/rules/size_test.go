package rules

import (
	"bytes"
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	maxFunctionLines = 60
	maxFileLines     = 500
	maxFileBytes     = 1 << 20
)

var code = []string{".go", ".c", ".h", ".rs", ".js", ".java", ".py", ".pl", ".sh"}

// TestFilesAreShort limits files of code to 500 lines, and all files to 1 MiB.
func TestFilesAreShort(t *testing.T) {
	for _, name := range tree(t) {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); slices.Contains(code, path.Ext(name)) && lines > maxFileLines {
			t.Errorf("%s has %d lines, want at most %d: split it by concept", name, lines, maxFileLines)
		}
		if len(text) > maxFileBytes {
			t.Errorf("%s has %d bytes, want at most %d: generate it when it is needed", name, len(text), maxFileBytes)
		}
	}
}

// logicLines returns the number of lines of f. A composite literal (a table) counts as one line.
func logicLines(s *source, f *ast.FuncDecl) int {
	span := func(n ast.Node) int {
		return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line
	}
	lines := span(f) + 1
	ast.Inspect(f.Body, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if ok {
			lines -= span(literal)
		}
		return !ok
	})
	return lines
}

func functionFaults(files []*source) []string {
	var faults []string
	for _, s := range files {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if lines := logicLines(s, f); lines > maxFunctionLines {
				faults = append(faults, fmt.Sprintf("%s: %s has %d lines without its tables, want at most %d: split it", s.at(f), f.Name.Name, lines, maxFunctionLines))
			}
		}
	}
	return faults
}

func TestFunctionsAreShort(t *testing.T) { report(t, functionFaults(sources(t))) }

func TestFunctionRuleExemptsTables(t *testing.T) {
	table := "package p\nfunc f() {\n\t_ = []int{\n" + strings.Repeat("\t\t1,\n", 100) + "\t}\n}\n"
	if faults := functionFaults([]*source{parse(t, "p/table.go", table)}); len(faults) != 0 {
		t.Errorf("a long table: faults %q, want none", faults)
	}
	logic := "package p\nfunc f() {\n" + strings.Repeat("\tf()\n", 59) + "}\n"
	if faults := functionFaults([]*source{parse(t, "p/logic.go", logic)}); len(faults) != 1 {
		t.Errorf("61 lines of logic: faults %q, want one", faults)
	}
}

// TestPackagesExplainThemselves requires a package comment that also states limitations.
func TestPackagesExplainThemselves(t *testing.T) {
	comments := map[string]string{}
	for _, s := range sources(t) {
		if !s.isTest() && s.file.Name.Name != "main" {
			comments[s.pkg()] += s.file.Doc.Text()
		}
	}
	for pkg, text := range comments {
		switch {
		case text == "":
			t.Errorf("%s: got no package comment, want its purpose, its users and its limitations", pkg)
		case !strings.Contains(text, "Limitation"):
			t.Errorf("%s: got a package comment without Limitations, want what it does not do", pkg)
		}
	}
}
