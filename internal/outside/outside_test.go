package outside

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// libraries are the packages that other modules import. The example of each is a whole program.
var libraries = []string{"chat/irc", "flow", "lab/stat", "serve", "tcpip", "web"}

// TestAnotherModuleUsesTheLibrariesByTheirPublicPath gives a copy of the tree a public path by
// scripts/module-path, and builds and runs the example of each library in a module outside it.
func TestAnotherModuleUsesTheLibrariesByTheirPublicPath(t *testing.T) {
	const path = "example.org/team/weir"
	tree := copyOfTheTree(t)
	in(t, tree, "scripts/module-path", path)
	if out := in(t, tree, "git", "log", "--format=%s"); out != "all: give the module its public path "+path+"\ncopy\n" {
		t.Errorf("git log: want the commit that renames the module on the copy, got\n%s", out)
	}
	if out := in(t, tree, "git", "grep", "-lE", `"weir/(serve|flow|web|tcpip|chat|lab|internal|wire)[/"]`, "--", "*.go", ":!internal/outside"); out != "" {
		t.Errorf("want no file that imports the old path, got\n%s", out)
	}
	in(t, tree, "go", "vet", "./serve", "./flow", "./internal/durable")
	for _, library := range libraries {
		t.Run(library, func(t *testing.T) { consumer(t, tree, path, library) })
	}
}

// copyOfTheTree is a repository of its own with the files that git knows or would take.
func copyOfTheTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	list, err := exec.Command("git", "-C", "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("git does not list the tree (%v): run this in a clone", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join("../..", name))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	in(t, dir, "git", "init", "-q")
	in(t, dir, "git", "add", "-A")
	in(t, dir, "git", "commit", "-qm", "copy")
	return dir
}

// in runs a command in a folder and returns its output. An unmatched git grep is no failure.
func in(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil && (len(command) < 2 || command[1] != "grep") {
		t.Fatalf("%s: got %v, want exit status 0\n%s%s", strings.Join(command, " "), err, out, failed.Bytes())
	}
	return string(out)
}

var (
	exampleFunction = regexp.MustCompile(`(?m)^func Example\(\)`)
	examplePackage  = regexp.MustCompile(`(?m)^package \w+_test$`)
	exampleOutput   = regexp.MustCompile(`(?m)^\t// Output:((?:.*\n\t//)*.*)$`)
)

// consumer makes the library's example the main of another module, and runs it.
func consumer(t *testing.T, tree, path, library string) {
	text, err := os.ReadFile(filepath.Join(tree, library, "example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	said := exampleOutput.FindSubmatch(text)
	if said == nil || !exampleFunction.Match(text) {
		t.Fatalf("%s/example_test.go: got no func Example with its output, want one", library)
	}
	want := strings.TrimSpace(strings.ReplaceAll(string(said[1]), "\n\t// ", "\n"))
	program := exampleFunction.ReplaceAll(examplePackage.ReplaceAll(text, []byte("package main")), []byte("func main()"))
	sums, err := os.ReadFile(filepath.Join(tree, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	module := "module consumer\n\ngo 1.26\n\nrequire " + path + " v0.0.0\n\nreplace " + path + " => " + tree + "\n"
	for name, content := range map[string][]byte{"main.go": program, "go.sum": sums, "go.mod": []byte(module)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.TrimSpace(in(t, dir, "go", "run", "-mod=mod", ".")); got != want {
		t.Errorf("another module's program prints\n%s\nwant\n%s", got, want)
	}
}
