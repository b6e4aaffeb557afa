package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// weir builds the command once for all tests of this package and returns its path.
var weir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weir-docs-")
	if err != nil {
		return "", err
	}
	builtDir = dir
	binary := filepath.Join(dir, "weir")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/weir")
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	return binary, cmd.Run()
})

// weirBinary returns the path of the command, which it builds if no test has.
func weirBinary(t *testing.T) string {
	t.Helper()
	binary, err := weir()
	if err != nil {
		t.Fatalf("building weir: got %v, want a binary", err)
	}
	return binary
}

var (
	commandLine = regexp.MustCompile(`(?m)^(?:\$ )?(?:build/)?weir ([a-z].*)$`)
	inlineCode  = regexp.MustCompile("`(?:build/)?weir ([a-z][^`]*)`")
	flag        = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z-]*)`)
	subcommand  = regexp.MustCompile(`^[a-z]+$`)
)

// mentions returns the weir command lines of a document: those in blocks of commands and in running
// text.
func mentions(t *testing.T, document string) []string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, b := range blocks(t, document) {
		if b.kind == "sh" || b.kind == "console" {
			for _, m := range commandLine.FindAllStringSubmatch(b.text, -1) {
				all = append(all, m[1])
			}
		}
	}
	for _, m := range inlineCode.FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	return all
}

// split returns the words that name the command of a command line, and its flags. Words after
// " -- " belong to another program.
func split(line string) (words, flags []string) {
	line, _, _ = strings.Cut(line, " -- ")
	for _, m := range flag.FindAllStringSubmatch(line, -1) {
		flags = append(flags, m[1])
	}
	for _, w := range strings.Fields(line) {
		if !subcommand.MatchString(w) || len(words) == 2 {
			break
		}
		words = append(words, w)
	}
	switch {
	case words[0] == "serve" && (len(words) < 2 || !slices.Contains([]string{"check", "draw", "components", "password"}, words[1])):
		words = []string{"serve", "run"} // the default command of serve
	case !slices.Contains([]string{"lab", "load", "serve", "chat", "stack"}, words[0]):
		words = words[:1]
	}
	return words, flags
}

// TestDocumentsNameCommandsAndFlagsThatExist runs each command named in a document with --help, and
// compares its flags.
func TestDocumentsNameCommandsAndFlagsThatExist(t *testing.T) {
	documents, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range append(documents, more...) {
		for _, line := range mentions(t, document) {
			words, flags := split(line)
			help, err := exec.Command(weirBinary(t), append(words, "--help")...).CombinedOutput()
			if err != nil {
				t.Errorf("%s: got weir %s, want a command that exists: %s", document, line, help)
				continue
			}
			known := flag.FindAllStringSubmatch(string(help), -1)
			for _, f := range flags {
				if !slices.ContainsFunc(known, func(m []string) bool { return m[1] == f }) {
					t.Errorf("%s: got weir %s with --%s, want a flag that the command's --help lists", document, line, f)
				}
			}
		}
	}
}
