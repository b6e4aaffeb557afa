package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestEveryCommandHasAManualPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "share", "man1")
	if out, err := exec.Command(binary(t), "man", dir).CombinedOutput(); err != nil {
		t.Fatalf("weir man %s: got %v, want the pages to be written: %s", dir, err, out)
	}
	eachNode(t, func(_ *kong.Kong, n *kong.Node) {
		name := manName(n.FullPath()) + ".1"
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("reading the page of weir %s: got %v, want a file", n.Path(), err)
			return
		}
		for _, part := range []string{".TH ", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH EXIT STATUS\n"} {
			if !bytes.Contains(text, []byte(part)) {
				t.Errorf("%s: got no line %q, want one", name, part)
			}
		}
	})
}

// The formatters that are installed read every page without a warning.
func TestManualPagesAreValid(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed: scripts/setup test names it")
	}
	eachNode(t, func(k *kong.Kong, n *kong.Node) {
		cmd := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z")
		cmd.Stdin = bytes.NewReader(newHelpPage(k.Model, n).man())
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff of the page of weir %s: got %v, want no error and no warning:\n%s", n.Path(), err, out)
		}
	})
}

func TestManShowsAPage(t *testing.T) {
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip("man is not installed: scripts/setup test names it")
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("man takes groff: scripts/setup test names it")
	}
	dir := t.TempDir()
	if out, err := exec.Command(binary(t), "man", dir).CombinedOutput(); err != nil {
		t.Fatalf("weir man %s: got %v, want the pages to be written: %s", dir, err, out)
	}
	cmd := exec.Command(man, "-l", filepath.Join(dir, "weir-lab-run.1"))
	cmd.Env = append(os.Environ(), "MANWIDTH=80", "MANPAGER=cat", "LC_ALL=C.UTF-8", "TERM=dumb")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"weir-lab-run - Run an experiment", "--rate-per-connection=N", "weir lab run im --quick --out runs/first", "EXIT STATUS"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("man -l shows no %q:\n%s", want, out)
		}
	}
}

func TestRoffKeepsEveryCharacter(t *testing.T) {
	for text, want := range map[string]string{
		"--json 'a' `b` c\\d": `\-\-json \(aqa\(aq \(gab\(ga c\ed`,
		".dot":                `\&.dot`,
		"a…b":                 `a\[u2026]b`,
	} {
		if got := roffLine(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestMakeInstallPutsWeirAndItsPagesBelowPREFIX(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	prefix := filepath.Join(t.TempDir(), "a prefix")
	built := filepath.Join(t.TempDir(), "weir")
	for _, step := range []struct {
		target string
		there  bool
	}{{"install", true}, {"uninstall", false}} {
		cmd := exec.Command("make", "-C", "../..", step.target, "PREFIX="+prefix, "BINARY="+built)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %s: got %v, want it to succeed:\n%s", step.target, err, out)
		}
		for _, name := range []string{"bin/weir", "share/man/man1/weir.1", "share/man/man1/weir-chat-user-add.1"} {
			if _, err := os.Stat(filepath.Join(prefix, name)); (err == nil) != step.there {
				t.Errorf("after make %s: %s: got error %v, want the file to exist: %v", step.target, name, err, step.there)
			}
		}
	}
}
