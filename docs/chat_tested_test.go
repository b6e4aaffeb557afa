package docs

import (
	goflag "flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var updateTables = goflag.Bool("update", false, "write the tables that tests compare with the sources")

// testedPackages are the rows of the table in how-chat-is-tested.md.
var testedPackages = []string{
	"chat", "chat/core", "chat/irc", "chat/log", "chat/account", "chat/data", "chat/client", "chat/page", "chat/tui", "chat/host", "chat/front",
	"chat/upgrade", "chat/upload", "chat/internal/storage", "chat/search", "chat/export", "chat/backup", "chat/chattest", "internal/durable",
	"internal/disk/simdisk", "internal/crashdisk", "internal/worlds/chat",
}

var (
	testFunction = regexp.MustCompile(`(?m)^func Test[A-Z]`)
	fuzzFunction = regexp.MustCompile(`(?m)^func Fuzz[A-Z]`)
)

// testsOf counts the tests, the fuzz targets and the lines of the test files of a package.
func testsOf(t *testing.T, pkg string) (tests, targets, lines int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got %d test files (%v), want some", pkg, len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests += len(testFunction.FindAll(text, -1)) - strings.Count(string(text), "\nfunc TestMain(")
		targets += len(fuzzFunction.FindAll(text, -1))
		lines += strings.Count(string(text), "\n")
	}
	return tests, targets, lines
}

// TestTheTableOfTestsIsThatOfTheSources: the numbers are counted, not remembered. Lines are rounded
// to hundreds, so that not every change of a test changes the document.
func TestTheTableOfTestsIsThatOfTheSources(t *testing.T) {
	const name, begin, end = "how-chat-is-tested.md", "<!-- table of tests -->\n", "<!-- end of the table -->\n"
	table := "| package | tests | fuzz targets | hundreds of lines |\n| --- | --- | --- | --- |\n"
	var all [3]int
	for _, pkg := range testedPackages {
		tests, targets, lines := testsOf(t, pkg)
		table += fmt.Sprintf("| `%s` | %d | %d | %d |\n", pkg, tests, targets, (lines+50)/100)
		all = [3]int{all[0] + tests, all[1] + targets, all[2] + lines}
	}
	table += fmt.Sprintf("| all | %d | %d | %d |\n", all[0], all[1], (all[2]+50)/100)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	was, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", name)
	}
	if *updateTables {
		if err := os.WriteFile(name, []byte(before+begin+"\n"+table+"\n"+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if strings.TrimSpace(was) != strings.TrimSpace(table) {
		t.Errorf("%s has another table than the sources: go test ./docs -run TestTheTableOfTests -update; want\n%s", name, table)
	}
}
