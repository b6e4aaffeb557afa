package rules

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// proseWidth is the last column of comments, with tabs of 4 columns, and of Markdown prose.
const proseWidth = 100

// retiredWords lists words that Weir once used in a sense of its own, with the words that engineers
// search for. A word that is right in its place stands in a code span or in a string of one word.
var retiredWords = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{word(`patien(ce|t|tly)`), "name the limit: pollTimeout, userTimeout, reorderWindow"},
	{word(`settle[sd]?|settling`), "say what happens: is flushed, converges, is done"},
	{word(`told|untold`), "is sent, is notified, is reported; a field says what it stores"},
	{word(`whoever|whomever`), "the client that, the caller that"},
	{word(`(no|every|some)body`), "no client, every member, a caller, another goroutine: say which"},
	{word(`dealers?`), "layer goroutine"},
	{word(`desks?`), "worker pool"},
	{word(`twins?`), "A/A control (lab), C implementation (chat)"},
	{word(`rulers?`), "CPU accounting method"},
	{word(`likewise`), "repeat what holds"},
	{word(`gives? way`), "yields, is evicted, backpressure"},
}

func word(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(` + pattern + `)\b`) }

// nominalSubject matches a sentence whose subject is a clause with Who or What.
var nominalSubject = regexp.MustCompile(`(?:^|[.:;!?] )((?:Who|What|Whoever|Whatever|That which) [^.?]*[.?]?)`)

// textFaults returns the faults of a comment or a paragraph.
func textFaults(at, text string) []string {
	faults := retiredWordFaults(at, text)
	for _, m := range nominalSubject.FindAllStringSubmatch(text, -1) {
		if !strings.HasSuffix(m[1], "?") {
			faults = append(faults, fmt.Sprintf("%s: %q has a clause as its subject: start with a noun", at, firstWords(m[1])))
		}
	}
	return faults
}

// retiredWordFaults returns a fault for each retired word in text.
func retiredWordFaults(at, text string) []string {
	var faults []string
	for _, s := range retiredWords {
		if found := s.pattern.FindString(text); found != "" {
			faults = append(faults, fmt.Sprintf("%s says %q: write the field's word (%s)", at, found, s.instead))
		}
	}
	return faults
}

func firstWords(s string) string {
	return strings.Join(strings.Fields(s)[:min(5, len(strings.Fields(s)))], " ")
}

// widthFault returns a fault if a comment line is too wide. A line of one long word, such as a URL,
// is not a fault, because it cannot be wrapped.
func widthFault(at, line, comment string) []string {
	width := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
	if width <= proseWidth || len(strings.Fields(comment)) < 3 || directive.MatchString(comment) {
		return nil
	}
	return []string{fmt.Sprintf("%s: the comment ends at column %d: wrap it at %d", at, width, proseWidth)}
}

// directive matches comments for tools, which may have any width.
var directive = regexp.MustCompile(`^//(go:|lint:|nolint|line )`)

// commentFaults returns the faults of a Go file's comments: width, retired words, nominal subjects.
func commentFaults(s *source, lines []string) []string {
	var faults []string
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			first := s.fset.Position(c.Pos()).Line
			for i, text := range strings.Split(c.Text, "\n") {
				at := fmt.Sprintf("%s:%d", s.path, first+i)
				faults = append(faults, widthFault(at, lines[first+i-1], text)...)
			}
		}
		faults = append(faults, textFaults(s.at(group), joined(group.Text()))...)
	}
	return faults
}

// joined returns a comment's text as one line, without its indented blocks.
func joined(text string) string {
	var prose []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "  ") {
			prose = append(prose, line)
		}
	}
	return strings.Join(prose, " ")
}

var (
	reports     = regexp.MustCompile(`\breports? whether\b`)
	callerHolds = regexp.MustCompile(`(?i)\bcallers? (must )?holds?\b`)
)

// docFaults returns the faults of functions' doc comments. That of a bool function has "reports
// whether"; a function whose caller holds a lock has a name that ends in Locked.
func docFaults(s *source) []string {
	if s.isTest() {
		return nil
	}
	var faults []string
	for _, d := range s.file.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || f.Doc == nil {
			continue
		}
		doc := joined(f.Doc.Text())
		if onlyBool(f.Type) && !reports.MatchString(doc) {
			faults = append(faults, fmt.Sprintf("%s: %s returns a bool: its comment says what it reports (\"reports whether\")", s.at(f), f.Name.Name))
		}
		if callerHolds.MatchString(doc) && !strings.HasSuffix(f.Name.Name, "Locked") {
			faults = append(faults, fmt.Sprintf("%s: the caller of %s holds a lock: end its name in Locked", s.at(f), f.Name.Name))
		}
	}
	return faults
}

// onlyBool reports whether a function returns one bool and nothing else.
func onlyBool(f *ast.FuncType) bool {
	if f.Results == nil || f.Results.NumFields() != 1 {
		return false
	}
	name, is := f.Results.List[0].Type.(*ast.Ident)
	return is && name.Name == "bool"
}

// identifierFaults returns the faults of the names that a file declares.
func identifierFaults(s *source) []string {
	var faults []string
	for _, id := range declared(s.file) {
		faults = append(faults, retiredWordFaults(s.at(id)+": the name "+id.Name, strings.Join(camel(id.Name), " "))...)
	}
	return faults
}

// declared returns the identifiers that a file declares: members of the package, fields, parameters
// and local variables.
func declared(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name)
		case *ast.TypeSpec:
			names = append(names, n.Name)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if id, is := left.(*ast.Ident); is && n.Tok.String() == ":=" {
					names = append(names, id)
				}
			}
		}
		return true
	})
	return names
}

// camel splits a name at its capitals: readMarkers is read, Markers.
func camel(name string) []string {
	var words []string
	start := 0
	for i, r := range name {
		if i > start && unicode.IsUpper(r) && !unicode.IsUpper(rune(name[i-1])) || r == '_' {
			words = append(words, strings.Trim(name[start:i], "_"))
			start = i
		}
	}
	return append(words, strings.Trim(name[start:], "_"))
}

// badExamples are files of this package whose strings and comments contain retired words on
// purpose.
var badExamples = []string{"internal/rules/prose_test.go", "internal/rules/prose_text_test.go"}

func TestGoIsWrittenInTheFieldsWords(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains(badExamples, s.path) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(t), s.path))
		if err != nil {
			t.Fatal(err)
		}
		report(t, commentFaults(s, strings.Split(string(text), "\n")))
		report(t, docFaults(s))
		report(t, identifierFaults(s))
	}
}

// publicName matches the parts of struct tags that name a flag or a key of a file. These names are
// an interface and do not change.
var publicName = regexp.MustCompile(`\b(name|old|toml|json):"[^"]*"`)

// literalFaults returns the faults of a Go file's messages: strings of three words or more.
func literalFaults(s *source) []string {
	var faults []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		lit, is := n.(*ast.BasicLit)
		if is && lit.Kind.String() == "STRING" && len(strings.Fields(lit.Value)) > 2 && !strings.Contains(lit.Value, "\n") {
			faults = append(faults, retiredWordFaults(s.at(lit)+": the message", publicName.ReplaceAllString(lit.Value, ""))...)
		}
		return true
	})
	return faults
}

func TestMessagesAreWrittenInTheFieldsWords(t *testing.T) {
	for _, s := range sources(t) {
		if !slices.Contains(badExamples, s.path) {
			report(t, literalFaults(s))
		}
	}
}

func TestOtherSourcesAreWrittenInTheFieldsWords(t *testing.T) {
	for _, name := range tree(t) {
		if strings.Contains("/"+name, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		switch path.Ext(name) {
		case ".md":
			report(t, markdownFaults(name, string(text)))
		case ".c", ".h", ".js", ".css":
			report(t, slashFaults(name, string(text)))
		}
	}
}
