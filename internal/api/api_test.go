package api

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the lists of what is public")

// packages are those whose users depend on what is public.
var packages = []string{"tcpip", "tcpip/dhcp", "tcpip/fabric", "tcpip/ip", "tcpip/link", "tcpip/metrics", "tcpip/nat", "tcpip/ndp", "tcpip/neigh", "tcpip/netsim", "tcpip/program", "tcpip/tcp", "tcpip/wgtun"}

// only names the types that are listed of packages whose rest is for package tcpip: those of its
// configuration and of what it reports.
var only = map[string][]string{
	"tcpip/ndp":   {"TempLifetimes"},
	"tcpip/neigh": {"Policy"},
	"tcpip/tcp":   {"Algorithm", "BufferRange", "Cause", "Config", "ECN", "Info", "MTUProbing", "Memory", "State"},
}

const (
	root      = "../.."
	changelog = root + "/docs/changelog.md"
)

// TestThePublicAPIIsListed: a change of what is public changes a list in this folder, and has a
// line in the changelog. Write the lists by go test ./internal/api -update.
func TestThePublicAPIIsListed(t *testing.T) {
	sum := sha256.New()
	for _, pkg := range packages {
		lines := public(t, filepath.Join(root, pkg), only[pkg])
		got := strings.Join(lines, "\n") + "\n"
		sum.Write([]byte(got))
		file := strings.ReplaceAll(pkg, "/", "_") + ".txt"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		listed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		reportChanges(t, pkg, strings.Split(strings.TrimSuffix(string(listed), "\n"), "\n"), lines)
	}
	text, err := os.ReadFile(changelog)
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## .*\(API ([0-9a-f]{8})\)$`).FindSubmatch(text)
	if want := fmt.Sprintf("%x", sum.Sum(nil)[:4]); newest == nil || string(newest[1]) != want {
		t.Errorf("the newest heading of docs/changelog.md is for another API than %s: add a line about the change, and write (API %s) behind its heading", want, want)
	}
}

// TestMethodsOfUnexportedTypesArePublicOnlyIfEmbedded: a user can call those of a type that an
// exported struct embeds, and no others.
func TestMethodsOfUnexportedTypesArePublicOnlyIfEmbedded(t *testing.T) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "p.go", `package p
type Request struct{ request }
type request struct{}
func (r *request) Drop() {}
type relay struct{}
func (r *relay) Close() {}
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := exported(t, files, []*ast.File{f}, nil)
	if want := []string{"func (r *request) Drop()", "type Request struct { // contains filtered or unexported fields }"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// reportChanges reports what is public and not listed, and the reverse.
func reportChanges(t *testing.T, pkg string, listed, public []string) {
	for _, line := range public {
		if !slices.Contains(listed, line) {
			t.Errorf("%s: %q is public and not listed", pkg, line)
		}
	}
	for _, line := range listed {
		if !slices.Contains(public, line) {
			t.Errorf("%s: %q is listed and no longer public", pkg, line)
		}
	}
}

// public returns what a package exports on Linux, a line for each declaration: of some types, or of
// all if types is nil.
func public(t *testing.T, dir string, types []string) (lines []string) {
	t.Helper()
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = "linux", "amd64", false
	p, err := context.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	return exported(t, files, parsed, types)
}

// exported returns a line for each exported declaration of a package's files: of some types, or of
// all if types is nil. Methods of an unexported type are public only if an exported struct embeds
// it.
func exported(t *testing.T, files *token.FileSet, parsed []*ast.File, types []string) (lines []string) {
	embedded := map[string]bool{}
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.IsExported() {
				addEmbedded(embedded, s)
			}
			return true
		})
	}
	for _, f := range parsed {
		ast.FileExports(f)
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				of := receiver(f)
				if of != "" && !ast.IsExported(of) && !embedded[of] || types != nil && !slices.Contains(types, of) {
					continue
				}
			}
			lines = append(lines, declared(t, files, d, types)...)
		}
	}
	slices.Sort(lines)
	return lines
}

// receiver returns the name of the type that a method belongs to; "": f is a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	return typeName(f.Recv.List[0].Type)
}

// addEmbedded adds the names of the types that a struct embeds.
func addEmbedded(names map[string]bool, s *ast.TypeSpec) {
	if fields, ok := s.Type.(*ast.StructType); ok {
		for _, f := range fields.Fields.List {
			if len(f.Names) == 0 {
				names[typeName(f.Type)] = true
			}
		}
	}
}

// typeName returns the name of a receiver's or embedded field's type.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// declared returns the lines of an exported declaration: those of some types, or all if types is
// nil.
func declared(t *testing.T, files *token.FileSet, d ast.Decl, types []string) (lines []string) {
	if f, ok := d.(*ast.FuncDecl); ok {
		f.Body = nil
		return []string{line(t, files, f)}
	}
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok == token.IMPORT {
		return nil
	}
	of := "" // the type of the constants
	for _, s := range g.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			of = s.Name.Name
		case *ast.ValueSpec:
			if s.Type != nil || len(s.Values) > 0 {
				of = typeName(s.Type)
			}
			if s.Type == nil && g.Tok == token.VAR {
				s.Values = nil // the names: a value may change
			}
		}
		if types == nil || slices.Contains(types, of) {
			lines = append(lines, g.Tok.String()+" "+line(t, files, s))
		}
	}
	return lines
}

// line returns a declaration in one line.
func line(t *testing.T, files *token.FileSet, n ast.Node) string {
	var text bytes.Buffer
	if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 0 && v.Type == nil {
		for i, name := range v.Names {
			if i > 0 {
				text.WriteString(", ")
			}
			text.WriteString(name.Name)
		}
		return text.String()
	}
	if err := printer.Fprint(&text, files, n); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(text.String()), " ")
}
