package rules

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// nameCounts counts the names of a part.
type nameCounts struct {
	functions, functionWords  int
	fields, fieldsWithOneWord int
}

// TestNameStatistics prints how many words the names of each part have; go test -v shows it. It
// sets no limit: a name is right when its call reads well without opening its file, and a longer
// name is worse than a short one that says the same.
func TestNameStatistics(t *testing.T) {
	parts := map[string]*nameCounts{}
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		part, _, _ := strings.Cut(s.path, "/")
		if parts[part] == nil {
			parts[part] = &nameCounts{}
		}
		parts[part].add(s.file)
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		t.Logf("%-9s %s", part, parts[part])
	}
}

func (c *nameCounts) String() string {
	share := func(n, of int) float64 { return float64(n) / float64(max(of, 1)) }
	return fmt.Sprintf("%5d functions, %.2f words a name; %5d fields of structs, %3.0f %% of one word",
		c.functions, share(c.functionWords, c.functions), c.fields, 100*share(c.fieldsWithOneWord, c.fields))
}

// add counts the functions of a file, methods included, and the named fields of its structs.
func (c *nameCounts) add(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			c.functions++
			c.functionWords += words(n.Name.Name)
		case *ast.StructType:
			for _, f := range n.Fields.List {
				for _, name := range f.Names {
					c.fields++
					if words(name.Name) == 1 {
						c.fieldsWithOneWord++
					}
				}
			}
		}
		return true
	})
}

// words returns the number of words of a name in mixed case: 3 for "parseHTTPHead".
func words(name string) int {
	count := 0
	letters := []rune(name)
	for i, r := range letters {
		startsWord := unicode.IsUpper(r) && (!unicode.IsUpper(letters[i-min(i, 1)]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if i == 0 || startsWord {
			count++
		}
	}
	return count
}

func TestWordsOfANameAreCounted(t *testing.T) {
	for name, want := range map[string]int{"read": 1, "readHead": 2, "parseHTTPHead": 3, "ID": 1, "userID": 2, "sndUna": 2, "TCP": 1, "x": 1} {
		if got := words(name); got != want {
			t.Errorf("%s: got %d words, want %d", name, got, want)
		}
	}
}
