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
var packages = []string{"tcpip", "tcpip/dhcp", "tcpip/ip", "tcpip/link", "tcpip/metrics", "tcpip/nat", "tcpip/tcp", "tcpip/wgtun"}

const (
	root      = "../.."
	changelog = root + "/docs/changelog.md"
)

// TestThePublicAPIIsListed: a change of what is public changes a list in this folder, and has a
// line in the changelog. Write the lists by go test ./internal/api -update.
func TestThePublicAPIIsListed(t *testing.T) {
	sum := sha256.New()
	for _, pkg := range packages {
		lines := public(t, filepath.Join(root, pkg))
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

// public returns what a package exports on Linux, a line for each declaration.
func public(t *testing.T, dir string) (lines []string) {
	t.Helper()
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = "linux", "amd64", false
	p, err := context.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(f)
		for _, d := range f.Decls {
			lines = append(lines, declared(t, files, d)...)
		}
	}
	slices.Sort(lines)
	return lines
}

// declared returns the lines of an exported declaration.
func declared(t *testing.T, files *token.FileSet, d ast.Decl) (lines []string) {
	if f, ok := d.(*ast.FuncDecl); ok {
		f.Body = nil
		return []string{line(t, files, f)}
	}
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok == token.IMPORT {
		return nil
	}
	for _, s := range g.Specs {
		if v, ok := s.(*ast.ValueSpec); ok && v.Type == nil && g.Tok == token.VAR {
			v.Values = nil // the names: a value may change
		}
		lines = append(lines, g.Tok.String()+" "+line(t, files, s))
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
