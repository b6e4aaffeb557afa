package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"weir/web/site"
)

// extract reads the comments of all blocks' structs from the source.
func extract(t *testing.T) comments {
	t.Helper()
	all := comments{}
	for _, b := range configs() {
		if b.Type == nil || b.Type.Name() == "" { // a struct without fields
			continue
		}
		fields := fieldComments(t, b.Type)
		attributes := map[string]string{} // by the name of the field
		for _, f := range reflect.VisibleFields(b.Type) {
			if name, kind, _ := strings.Cut(f.Tag.Get("hcl"), ","); name != "" && kind != "block" {
				attributes[f.Name] = name
			}
		}
		all[b.Name] = map[string]comment{}
		for field, name := range attributes {
			all[b.Name][name] = parseComment(fields[field], attributes)
		}
	}
	return all
}

// fieldComments returns the comments of a struct's fields, each in one line.
func fieldComments(t *testing.T, of reflect.Type) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../..", strings.TrimPrefix(of.PkgPath(), "weir/"), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != of.Name() {
				return true
			}
			for _, f := range spec.Type.(*ast.StructType).Fields.List {
				for _, name := range f.Names {
					said[name.Name] = strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
				}
			}
			return false
		})
	}
	return said
}

var (
	clause    = regexp.MustCompile(`[.;] `)
	byDefault = regexp.MustCompile(`^(?i:empty|nil|0): `)
	goLink    = regexp.MustCompile(`\[([A-Za-z.]+)\]`)
	startOfGo = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*\b`)
	wordsOfGo = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*\b`)
	// as Web and Set around Key, in JSON Web Key Set
	nameBefore, nameBehind = regexp.MustCompile(`[A-Z][A-Za-z]* $`), regexp.MustCompile(`^ [A-Z]`)
	joinedBefore           = regexp.MustCompile(`[-.]$`)
	endsInStop             = regexp.MustCompile(`[.:]$`)
)

// parseComment parts a comment into explanation and default. attributes has the names of the
// attributes by those of the fields.
func parseComment(text string, attributes map[string]string) comment {
	var c comment
	rest, separator := text, ""
	for rest != "" {
		part, end := rest, ""
		if at := clause.FindStringIndex(rest); at != nil {
			part, end, rest = rest[:at[0]], rest[at[0]:at[1]], rest[at[1]:]
		} else {
			rest = ""
		}
		if m := byDefault.FindString(part); m != "" && c.Default == "" {
			c.Default = strings.TrimSuffix(part[len(m):], ".")
			continue
		}
		if c.Text != "" {
			c.Text += separator
		}
		if strings.HasPrefix(separator, ".") {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		c.Text, separator = c.Text+part, end
	}
	c.Text, c.Default = inSiteFile(c.Text, attributes), inSiteFile(c.Default, attributes)
	if c.Text != "" {
		c.Text = strings.ToUpper(c.Text[:1]) + c.Text[1:]
		if !endsInStop.MatchString(c.Text) {
			c.Text += "."
		}
	}
	return c
}

// inSiteFile replaces Go names by the names that a site file has. A field's name in capitals, such
// as ACME, is also a word, and stays but at the start.
func inSiteFile(text string, attributes map[string]string) string {
	text = goLink.ReplaceAllStringFunc(text, func(link string) string {
		name := strings.Trim(link, "[]")
		for _, k := range site.Kinds() {
			if strings.EqualFold(strings.ReplaceAll(k.Name, "_", ""), name) {
				return "`" + k.Name + "`"
			}
		}
		return name
	})
	first := startOfGo.FindString(text)
	for field, name := range attributes {
		if field == first {
			text = "`" + name + "`" + text[len(first):]
		}
	}
	var b strings.Builder
	end := 0
	for _, at := range wordsOfGo.FindAllStringIndex(text, -1) {
		word, before := text[at[0]:at[1]], text[:at[0]]
		name, ok := attributes[word]
		inName := nameBefore.MatchString(before) && nameBehind.MatchString(text[at[1]:])
		if !ok || word == strings.ToUpper(word) || inName || joinedBefore.MatchString(before) || strings.HasPrefix(text[at[1]:], "-") {
			continue
		}
		b.WriteString(text[end:at[0]] + "`" + name + "`")
		end = at[1]
	}
	return b.String() + text[end:]
}

// The default is any clause of the comment; field names become names of attributes.
func TestCommentsArePartedIntoExplanationAndDefault(t *testing.T) {
	names := map[string]string{"MaxSize": "max_size", "Type": "type"}
	for text, want := range map[string]comment{
		`MaxSize is the limit, with a Type. Empty: "1KB".`:                     {"`max_size` is the limit, with a `type`.", `"1KB"`},
		`MaxSize is that of a JSON Type Set. Without Type, of a Content-Type.`: {"`max_size` is that of a JSON Type Set. Without `type`, of a Content-Type.", ""},
		`Margin is the distance. 0: 16; negative: none.`:                       {"Margin is the distance. Negative: none.", "16"},
		`such as [Static] or [path.Match]; empty: 4 times MaxSize`:             {"Such as `static` or path.Match.", "4 times `max_size`"},
		`Codings are looked for. Nil: all three in this order. Empty: none.`:   {"Codings are looked for. Empty: none.", "all three in this order"},
		`Ping is the interval. Empty: "30s"; "0s": none.`:                      {`Ping is the interval. "0s": none.`, `"30s"`},
		``: {},
	} {
		if got := parseComment(text, names); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// exampleFiles returns the names of all examples.
func exampleFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("examples")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".hcl"))
	}
	return names
}
