package reference

import (
	"embed"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir/internal/suggest"
	"weir/web/site"
)

// Block is a block of a site file.
type Block struct {
	Name       string
	Group      Group
	About      string // what it does, in one line
	Notes      string // what else its author must know; empty: nothing
	Label      string // a sentence on its label; empty: at most a name for drawings
	Inside     string // a sentence on the blocks inside; empty: there are none
	Attributes []Attribute
	Example    string // a site file
}

// Plain returns the block with texts for a terminal or a program: without the marks of Markdown.
func (b Block) Plain() Block {
	b.Attributes = slices.Clone(b.Attributes)
	for i := range b.Attributes {
		a := &b.Attributes[i]
		a.Text, a.Default = strings.ReplaceAll(a.Text, "`", ""), strings.ReplaceAll(a.Default, "`", "")
	}
	return b
}

// Attribute is an attribute of a block.
type Attribute struct {
	Name string
	// "string", "integer", "number", "true or false", or a list or map of strings or integers
	Type     string
	Unit     string `json:",omitempty"`
	Required bool
	Default  string   `json:",omitempty"` // a value as in a site file, or a description
	Range    string   `json:",omitempty"` // limits of the value
	Values   []string `json:",omitempty"` // all possible values, or all possible elements of a list
	Example  string   // a value as in a site file
	Text     string   // an explanation, in Markdown
}

// comment is what the comment of a Config's field says of an attribute.
type comment struct {
	Text    string
	Default string
}

// comments are the comments by block and attribute.
type comments map[string]map[string]comment

//go:embed comments.json
var commentsJSON []byte

//go:embed examples
var examples embed.FS

// Blocks returns all blocks: those of the server first, then by group and name.
func Blocks() []Block {
	var c comments
	if err := json.Unmarshal(commentsJSON, &c); err != nil {
		panic(err) // a test reads the same bytes
	}
	return blocksWith(c)
}

// Names returns the names of all blocks.
func Names() []string {
	var names []string
	for _, b := range configs() {
		names = append(names, b.Name)
	}
	return names
}

// Find returns the block with a name. The error suggests a name for a mistyped one.
func Find(name string) (Block, error) {
	for _, b := range Blocks() {
		if b.Name == name {
			return b, nil
		}
	}
	return Block{}, fmt.Errorf("there is no component %q%s", name, suggest.DidYouMean(name, Names()))
}

// config is a block with the struct that it is decoded into.
type config struct {
	Block
	Type reflect.Type // nil: it has no attributes
}

// configs lists the blocks without their attributes.
func configs() []config {
	all := []config{
		{Block{Name: "server", Group: Server, About: "says how a site is served; the only block that is not part of a pipeline",
			Label:  "Its label is its name, in logs, metrics and drawings. A file with one server needs none: the pipeline stands beside the block. A file may have several servers, each with a name, an address and a pipeline inside.",
			Inside: "It may contain blocks tls, one for each certificate. A server with a name also contains the components."}, reflect.TypeFor[site.Server]()},
		{Block{Name: "tls", Group: Server, About: "serves over TLS, with a certificate from files, by ACME (RFC 8555) or self-signed; stands inside server",
			Inside: "It contains no blocks. A server with several certificates has a block tls for each: the name that the client requests decides, a name itself before a wildcard such as *.example.org. A client that requests no name of them gets the first."}, reflect.TypeFor[site.TLS]()},
		{Block{Name: "variable", Group: Server, About: "defines a value that other blocks use as var.NAME; stands in the file itself",
			Label: "Its label is required: the variable's name. The flag --set NAME=VALUE gives it a value. Errors of the file and events of its components do not show values of 6 bytes or more from the flag or the environment."}, reflect.TypeFor[site.Variable]()},
		{Block{Name: "include", Group: Server, About: "inserts the blocks of another file",
			Label: "Its label is required: the file, relative to the folder of the file that includes it. Includes may be 10 levels deep. The paths in the included blocks are relative to the folder of the site file, as all others. A change of the file reloads the site."}, nil},
		{Block{Name: "route", Group: Compositions, About: "runs the components inside for requests that match its pattern", Inside: anyComponents,
			Label: "Its label is required: a pattern of net/http's ServeMux, such as \"/js/\", \"POST /form\" or \"example.org/\"."}, nil},
	}
	for _, k := range site.Kinds() {
		place := places[k.Name]
		all = append(all, config{Block{Name: k.Name, Group: place.group, About: k.About, Inside: place.inside}, k.Config})
	}
	slices.SortStableFunc(all[4:], func(a, b config) int { return groupIndex(a.Group) - groupIndex(b.Group) })
	return all
}

func blocksWith(c comments) []Block {
	values := exampleValues()
	var all []Block
	for _, b := range configs() {
		b.Attributes = attributesOf(b, c[b.Name], values)
		b.Example, b.Notes = exampleOf(b.Name), notes[b.Name]
		all = append(all, b.Block)
	}
	return all
}

// value matches a default that is a value. A remark in parentheses may follow.
var value = regexp.MustCompile(`^("[^"]*"|-?[0-9][0-9,]*(?:\.[0-9]+)?|true|false|\[.*\])(?: \([^)]*\))?$`)

// DefaultValue returns the default as it could stand in a site file. ok is false if the default is
// only described.
func (a Attribute) DefaultValue() (literal string, ok bool) {
	m := value.FindStringSubmatch(a.Default)
	if m == nil {
		return "", false
	}
	if m[1][0] != '"' && m[1][0] != '[' {
		m[1] = strings.ReplaceAll(m[1], ",", "")
	}
	return m[1], true
}

// exampleOf returns the site file that shows a block.
func exampleOf(block string) string {
	text, _ := examples.ReadFile("examples/" + block + ".hcl") // a test reads each
	return string(text)
}

// attributesOf returns the attributes of a block in the order of the fields.
func attributesOf(b config, said map[string]comment, examples map[string]string) []Attribute {
	all := []Attribute{}
	if b.Type == nil {
		return all
	}
	for _, f := range reflect.VisibleFields(b.Type) {
		name, kind, _ := strings.Cut(f.Tag.Get("hcl"), ",")
		key := b.Name + "." + name
		if name == "" || kind == "block" || slices.Contains(hidden, key) {
			continue
		}
		fact := facts[key]
		a := Attribute{Name: name, Type: typeName(f.Type), Unit: fact.unit, Required: kind != "optional" || fact.required, Default: said[name].Default, Range: fact.limits,
			Values: fact.values, Example: examples[key], Text: said[name].Text}
		if slices.Contains(perProcess, key) && a.Text != "" {
			a.Text += perProcessText
		}
		if a.Default == "" && a.Type == boolType {
			a.Default = "false"
		}
		all = append(all, a)
	}
	return all
}

const boolType = "true or false"

// typeName returns the name of a type as a site file's author knows it.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Bool:
		return boolType
	case reflect.Int:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list of " + typeName(t.Elem()) + "s"
	case reflect.Map:
		return "map of " + typeName(t.Elem()) + "s"
	case reflect.Struct: // a cty.Value
		return "any"
	}
	return t.Kind().String()
}

// exampleValues returns a value of each attribute that the examples have, as it stands there. The
// key is "block.attribute". A block's own example goes before those of others.
func exampleValues() map[string]string {
	all := map[string]string{}
	for _, own := range []bool{true, false} {
		for _, name := range Names() {
			text := exampleOf(name)
			file, diags := hclsyntax.ParseConfig([]byte(text), name+".hcl", hcl.InitialPos)
			if diags.HasErrors() {
				continue // a test loads each
			}
			collectValues(all, text, file.Body.(*hclsyntax.Body), func(block string) bool { return !own || block == name })
		}
	}
	return all
}

// collectValues adds the values of the attributes in the blocks of a body, and in those inside.
func collectValues(to map[string]string, text string, body *hclsyntax.Body, wanted func(block string) bool) {
	for _, b := range body.Blocks {
		for _, a := range b.Body.Attributes {
			key := b.Type + "." + a.Name
			if _, ok := to[key]; !ok && wanted(b.Type) {
				r := a.Expr.Range()
				to[key] = text[r.Start.Byte:r.End.Byte]
			}
		}
		collectValues(to, text, b.Body, wanted)
	}
}
