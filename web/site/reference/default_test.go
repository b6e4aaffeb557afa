package reference

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/web/site"
)

// codeOf says where the defaults of the server are: a folder and the name of a field.
var codeOf = map[string][2]string{
	"server.read_header_timeout": {"web/server", "HeaderTimeout"},
	"server.idle_timeout":        {"web/server", "IdleTimeout"},
	"server.drain_timeout":       {"web/server", "DrainTimeout"},
	"server.max_header_bytes":    {"web/server", "MaxHeadBytes"},
	"tls.store":                  {"cmd/weir", "Store"},
}

// unchecked are attributes whose defaults stand in the code in another way: as a named constant, in
// a statement of their own, or as the case of a switch.
var unchecked = []string{"server.listen", "server.run", "server.engine", "server.model", "authenticate.attempts", "compress.effort", "files.index", "inject.before", "lower_quality.when",
	"proxy.hash_by", "proxy.policy", "static.status"}

// TestDefaultsStandInTheCode looks for each default in the source of the component, as the constant
// that stands behind the field in a call or in a list: cmp.Or(cfg.Quality, 85).
func TestDefaultsStandInTheCode(t *testing.T) {
	code := map[string][]*ast.File{} // by folder
	for _, b := range configs() {
		block, err := Find(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range block.Attributes {
			stated, ok := a.DefaultValue()
			if !ok || a.Type == boolType {
				continue
			}
			key := b.Name + "." + a.Name
			dir, field := strings.TrimPrefix(b.Type.PkgPath(), "weir/"), strings.ReplaceAll(a.Name, "_", "")
			if at, ok := codeOf[key]; ok {
				dir, field = at[0], at[1]
			}
			if code[dir] == nil {
				code[dir] = parseFolder(t, dir)
			}
			found := constantsBehind(code[dir], field)
			switch isFound := slices.Contains(found, canonical(t, a, stated)) || slices.Contains(found, strings.Trim(stated, `"`)); {
			case !isFound && !slices.Contains(unchecked, key):
				t.Errorf("%s: got the default %s in the comment, want one of %q that the code of %s has for %s", key, stated, found, dir, field)
			case isFound && slices.Contains(unchecked, key):
				t.Errorf("unchecked: got %s, want only defaults that the code does not show: take it out", key)
			}
		}
	}
}

// canonical returns a default in the form of constantsBehind.
func canonical(t *testing.T, a Attribute, literal string) string {
	t.Helper()
	text, err := strconv.Unquote(literal)
	switch {
	case err != nil:
		return literal
	case a.Unit == duration:
		d, err := site.Duration(text)
		if err != nil {
			t.Errorf("the default %s of %s: got %v, want a duration", literal, a.Name, err)
		}
		return strconv.FormatInt(int64(d), 10)
	case a.Unit == size:
		for i, suffix := range []string{"B", "KB", "MB", "GB"} {
			if n, err := strconv.ParseInt(strings.TrimSuffix(text, suffix), 10, 64); err == nil && strings.HasSuffix(text, suffix) {
				return strconv.FormatInt(n<<(10*i), 10)
			}
		}
	}
	return text
}

func parseFolder(t *testing.T, dir string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../../..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// constantsBehind returns the constants that stand behind a field, or a variable of its name, in
// lists of arguments and elements.
func constantsBehind(files []*ast.File, field string) []string {
	var all []string
	search := func(list []ast.Expr) {
		for i, e := range list[:max(0, len(list)-1)] {
			if v := evaluate(list[i+1]); strings.EqualFold(nameOf(e), field) && v.Kind() != constant.Unknown {
				all = append(all, text(v))
			}
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				search(n.Args)
			case *ast.CompositeLit:
				search(n.Elts)
			}
			return true
		})
	}
	return all
}

// nameOf returns the name of a field or a variable, or "".
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func text(v constant.Value) string {
	if v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return v.ExactString()
}

var units = map[string]time.Duration{"Nanosecond": 1, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}

// evaluate returns the value of an expression of literals and units of time.
func evaluate(e ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0)
	case *ast.SelectorExpr:
		if d, ok := units[e.Sel.Name]; ok {
			return constant.MakeInt64(int64(d))
		}
	case *ast.BinaryExpr:
		x, y := evaluate(e.X), evaluate(e.Y)
		if x.Kind() != constant.Int || y.Kind() != constant.Int {
			return constant.MakeUnknown()
		}
		if n, ok := constant.Uint64Val(y); ok && e.Op == token.SHL {
			return constant.Shift(x, e.Op, uint(n))
		}
		if e.Op == token.MUL {
			return constant.BinaryOp(x, e.Op, y)
		}
	}
	return constant.MakeUnknown()
}
