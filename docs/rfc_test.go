package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// requirement is a row of rfc.md.
type requirement struct{ number, what, where, test string }

// requirements returns the rows of all tables in rfc.md, without their heads.
func requirements(t *testing.T) (all []requirement) {
	t.Helper()
	text, err := os.ReadFile("rfc.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if strings.HasPrefix(line, "| ") && strings.Contains(line, "| | ") {
			cells = strings.Split(strings.Trim(strings.ReplaceAll(line, "| | ", "|  | "), "| "), " | ")
		}
		if !strings.HasPrefix(line, "| ") || cells[0] == "No." || cells[0] == "RFC" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		if len(cells) != 4 {
			t.Errorf("got a row of %d cells, want 4: %s", len(cells), line)
			continue
		}
		all = append(all, requirement{cells[0], cells[1], strings.TrimSpace(cells[2]), cells[3]})
	}
	if len(all) < 100 {
		t.Fatalf("got %d rows, want at least 100", len(all))
	}
	return all
}

var quoted = regexp.MustCompile("`([^`]+)`")

// names returns the text in backticks of a cell.
func names(cell string) (all []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// The files, tests and scripts that rfc.md names exist. A row without a test says so, or names a
// gap.
func TestEveryRequirementNamesFilesAndTestsThatExist(t *testing.T) {
	for _, r := range requirements(t) {
		for _, file := range names(r.where) {
			if !exists("../tcpip/"+file) && !exists("../"+file) {
				t.Errorf("rfc.md, %s: got the file %s, want one that exists in tcpip or the root", r.number, file)
			}
		}
		gap := strings.Contains(r.test, "**Gap**")
		if r.where == "" && !gap && !strings.Contains(r.test, "no test") {
			t.Errorf("rfc.md, %s: got no file, want one, a gap or \"no test\"", r.number)
		}
		tests := names(r.test)
		if len(tests) == 0 && !gap && !strings.Contains(r.test, "no test") {
			t.Errorf("rfc.md, %s: got no test, want one, a gap or \"no test\"", r.number)
		}
		for _, name := range tests {
			if err := shows(name); err != nil {
				t.Errorf("rfc.md, %s: got %v, want a test or script that exists", r.number, err)
			}
		}
	}
}

func exists(file string) bool {
	info, err := os.Stat(file)
	return err == nil && !info.IsDir()
}

// shows reports an error unless a test exists: "tcp.TestRenoGrowsByASegmentARound", or a script,
// "close.txt: simultaneous close".
func shows(name string) error {
	if file, title, ok := strings.Cut(name, ".txt: "); ok {
		text, err := os.ReadFile("../tcpip/tcp/testdata/" + file + ".txt")
		if err == nil && !strings.Contains(string(text), "\n== "+title+"\n") {
			err = fmt.Errorf("%s.txt has no script %q", file, title)
		}
		return err
	}
	pkg, test, _ := strings.Cut(name, ".")
	dirs := map[string]string{"tcpip": "../tcpip", "wire": "../wire"}
	dir, ok := dirs[pkg]
	if !ok {
		dir = "../tcpip/" + pkg
	}
	files, _ := filepath.Glob(dir + "/*_test.go")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), "\nfunc "+test+"(") {
			return nil
		}
	}
	return fmt.Errorf("%s has no test %s", dir, test)
}

// rfc.md has each requirement that RFC 9293 numbers in its appendix B, once.
func TestEveryNumberOfRFC9293IsThere(t *testing.T) {
	rows := map[string]int{}
	for _, r := range requirements(t) {
		for _, n := range strings.Split(r.number, ", ") {
			rows[n]++
		}
	}
	for kind, most := range map[string]int{"MUST": 69, "SHLD": 31, "MAY": 18, "REC": 1} {
		for n := 1; n <= most; n++ {
			if number := fmt.Sprintf("%s-%d", kind, n); rows[number] != 1 {
				t.Errorf("rfc.md has %s %d times, want once", number, rows[number])
			}
		}
	}
}
