package docs

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/chat/host"
)

// fieldComments returns the comments of the fields of chat/host's structs, by type and key: the
// comment before a field or, if there is none, the one after it.
func fieldComments(t *testing.T) map[string]map[string]string {
	t.Helper()
	files, err := filepath.Glob("../chat/host/*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				all[spec.Name.Name] = map[string]string{}
				for _, field := range s.Fields.List {
					if field.Tag != nil {
						key := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("toml")
						text := cmp.Or(field.Doc.Text(), field.Comment.Text())
						all[spec.Name.Name][key] = strings.Join(strings.Fields(text), " ")
					}
				}
			}
			return true
		})
	}
	return all
}

// configRow returns a key's row in a table of chat-config.md.
func configRow(key, comment, full string) string {
	meaning, standard, _ := strings.Cut(comment, " Default: ")
	if standard == "" {
		meaning, standard, _ = strings.Cut(comment, " Default ")
	}
	if m, ok := strings.CutSuffix(meaning, " No default"); ok {
		meaning, standard = m, ""
	}
	holds := "at once"
	if host.Fixed(full) {
		holds = "next start"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |", key, strings.TrimRight(meaning, "."), strings.TrimRight(standard, "."), holds)
}

// configTables returns the tables that chat-config.md must have, by heading.
func configTables(t *testing.T) (headings []string, tables map[string][]string) {
	comments, tables := fieldComments(t), map[string][]string{}
	var walk func(typ reflect.Type, heading, prefix string)
	walk = func(typ reflect.Type, heading, prefix string) {
		headings = append(headings, heading)
		for i := range typ.NumField() {
			f := typ.Field(i)
			key := f.Tag.Get("toml")
			switch {
			case key == "":
			case f.Type.Kind() == reflect.Struct:
				walk(f.Type, "## `["+key+"]`", key+".")
			default:
				tables[heading] = append(tables[heading], configRow(key, comments[typ.Name()][key], prefix+key))
			}
		}
	}
	walk(reflect.TypeFor[host.Config](), "## The top of the file", "")
	return headings, tables
}

// TestEveryKeyOfAChatsConfigurationIsDocumented compares the tables with the comments of the
// struct's fields, of which they are a copy.
func TestEveryKeyOfAChatsConfigurationIsDocumented(t *testing.T) {
	data, err := os.ReadFile("chat-config.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	headings, tables := configTables(t)
	for _, heading := range headings {
		_, section, found := strings.Cut(text, "\n"+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		var rows []string
		for line := range strings.Lines(section) {
			if strings.HasPrefix(line, "| `") {
				rows = append(rows, strings.TrimSpace(line))
			}
		}
		if want := tables[heading]; !found || !slices.Equal(rows, want) {
			t.Errorf("chat-config.md, under %q: got other rows, want\n%s", heading, strings.Join(want, "\n"))
		}
	}
	if n := strings.Count(text, "\n| `"); n < len(host.Keys()) {
		t.Errorf("chat-config.md has %d rows, want one for each of %d keys", n, len(host.Keys()))
	}
}

// TestTheExamplesOfAChatsConfigurationAreAccepted reads the examples as weir chat serve does.
func TestTheExamplesOfAChatsConfigurationAreAccepted(t *testing.T) {
	n := 0
	for _, b := range blocks(t, "chat-config.md") {
		if b.kind != "toml" {
			continue
		}
		n++
		file := filepath.Join(t.TempDir(), "weir.toml")
		if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (host.Source{File: file}).Read(); err != nil {
			t.Errorf("chat-config.md: got %v, want an example that the server accepts:\n%s", err, b.text)
		}
	}
	if n == 0 {
		t.Error("chat-config.md: got no example, want at least one")
	}
}
