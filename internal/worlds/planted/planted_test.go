package planted

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/testsize"
)

const root = "../../.."

var update = flag.Bool("update", false, "write the tables of the documents")

// worlds are the tests that look for bugs.
var worlds = map[string]struct {
	dir, run string // the folder of the test from the root, and its name
	document string // has the table
}{
	"chat": {"internal/worlds/chat", ".", "docs/tested-in-worlds.md"},
	"web":  {"internal/worlds/web", ".", "docs/tested-in-worlds.md"},
	"core": {"chat/core", "^TestWorldsKeepWhatTheyAcknowledge$", "docs/how-chat-is-tested.md"},
}

// plant returns the source of the file with the bug.
func (b *bug) plant() (string, error) {
	text, err := os.ReadFile(filepath.Join(root, b.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), b.old); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, want it once: adapt the bug %q to the code", b.file, b.old, n, b.name)
	}
	return strings.Replace(string(text), b.old, b.new, 1), nil
}

func TestBugsCanBePlanted(t *testing.T) {
	for _, b := range slices.Concat(bugs, coreBugs) {
		text, err := b.plant()
		if err == nil {
			_, err = parser.ParseFile(token.NewFileSet(), b.file, text, 0)
		}
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
		}
	}
}

// starts are the first seeds of the tries: how many seeds a bug needs is luck.
var starts = []int{1, 10_001, 20_001}

// TestPlantedBugsAreFound plants each bug, and has the worlds look for it from each start.
func TestPlantedBugsAreFound(t *testing.T) {
	if os.Getenv("WEIR_PLANTED_SEEDS") == "" {
		t.Skip("it takes minutes: set WEIR_PLANTED_SEEDS to the number of seeds, such as 300")
	}
	seeds := testsize.Of(t, "WEIR_PLANTED_SEEDS", 1)
	for _, list := range [][]bug{bugs, coreBugs} {
		table := findAll(t, list, seeds)
		if *update && strings.Count(table, "\n") == 2+len(list) { // all of the list
			writeTable(t, worlds[list[0].world].document, table)
		}
	}
}

// findAll plants each bug, and returns a table of the seeds that were needed.
func findAll(t *testing.T, list []bug, seeds int) string {
	var table strings.Builder
	table.WriteString("| bug | what a user would see | worlds | seeds until it was found |\n| --- | --- | --- | --- |\n")
	for _, b := range list {
		if only := os.Getenv("WEIR_PLANTED_WORLDS"); only != "" && only != b.world {
			continue
		}
		program, err := b.build(t.TempDir())
		if err != nil {
			t.Fatalf("%s: %v", b.name, err)
		}
		var needed []string
		for _, first := range starts {
			n := b.find(t, program, first, seeds)
			if needed = append(needed, strconv.Itoa(n)); n == 0 {
				needed[len(needed)-1] = "not in " + strconv.Itoa(seeds)
				t.Errorf("%s: got no failure in %d seeds from %d on, want one", b.name, seeds, first)
			}
		}
		row := fmt.Sprintf("| %s | %s | `%s` | %s |\n", b.name, b.what, b.world, strings.Join(needed, ", "))
		t.Log(row)
		table.WriteString(row)
	}
	return table.String()
}

// build compiles the tests of the bug's world with the bug.
func (b *bug) build(dir string) (program string, err error) {
	text, err := b.plant()
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(filepath.Join(root, b.file))
	if err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err = errors.Join(err, os.WriteFile(changed, []byte(text), 0o644), os.WriteFile(overlay, replace, 0o644)); err != nil {
		return "", err
	}
	program = filepath.Join(dir, "world.test")
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", program, "weir/"+worlds[b.world].dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
}

var found = regexp.MustCompile(`(?:found by|netsim:) seed (\d+)`)

// find runs the worlds with seeds from first on, and returns how many it took to find the bug; 0
// if all passed.
func (b *bug) find(t *testing.T, program string, first, seeds int) int {
	t.Helper()
	cmd := exec.Command(program, "-test.timeout", "20m", "-test.run", worlds[b.world].run)
	cmd.Dir = filepath.Join(root, worlds[b.world].dir)
	n, memory := strconv.Itoa(seeds), t.TempDir()
	if dir, err := os.MkdirTemp("/dev/shm", "weir-planted-"); err == nil {
		memory = dir
		defer os.RemoveAll(dir)
	}
	cmd.Env = append(os.Environ(), "WEIR_WORLDS_PLANTED="+memory, "WEIR_FIRST_WORLD="+strconv.Itoa(first), "WEIR_CHAT_WORLDS="+n, "WEIR_WEB_WORLDS="+n, "WEIR_CORE_WORLDS="+n)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return 0
	}
	m := found.FindSubmatch(out)
	if m == nil {
		t.Fatalf("%s: got %v, want a failed world or success:\n%s", b.name, err, out)
	}
	seed, _ := strconv.Atoi(string(m[1]))
	return seed - first + 1
}

// writeTable replaces the table of a document.
func writeTable(t *testing.T, document, table string) {
	t.Helper()
	name := filepath.Join(root, document)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- table of planted bugs -->\n", "<!-- end of the table -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: got no %q before %q, want the place of the table", name, begin, end)
	}
	if err := os.WriteFile(name, []byte(before+begin+"\n"+table+"\n"+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
