package site

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weir/internal/suggest"
)

const (
	variableBlock = "variable"
	// variablesRoot is the name under which expressions find the variables: var.NAME.
	variablesRoot = "var"
)

// Values are values that do not stand in the file: of variables, and of attributes of servers.
type Values struct {
	// By name; they precede the environment's and the file's. Each must have its variable.
	Set map[string]string
	// LookupEnv returns an environment variable, as [os.LookupEnv] does. It is called for the names
	// that the file has as env. Nil: there are none.
	LookupEnv func(name string) (string, bool)

	// Engine and Model are flags that override these attributes of each server. Empty: they do not.
	Engine, Model string
}

// Variable is the block variable: a value that other blocks use as var.NAME.
type Variable struct {
	// Default is the value that is used if no other is given: a string, a number, true or false, or
	// a list. It is no place for a secret. Empty: a value must be given.
	Default cty.Value `hcl:"default,optional"`
	// Env is the name of an environment variable that gives the value, unless the flag --set gives
	// it. Empty: none.
	Env string `hcl:"env,optional"`
}

// readVariables evaluates the variables of a body, and returns the body without them.
func (l *loader) readVariables(body *hclsyntax.Body) *hclsyntax.Body {
	rest := *body
	rest.Blocks = nil
	values := map[string]cty.Value{}
	for _, b := range body.Blocks {
		if b.Type != variableBlock {
			rest.Blocks = append(rest.Blocks, b)
			continue
		}
		if len(b.Labels) != 1 || !hclsyntax.ValidIdentifier(b.Labels[0]) {
			l.addError(b.TypeRange, "Invalid variable", `A variable has one label, its name of letters, digits, - and _: variable "port" { default = 8080 }.`)
			continue
		}
		name := b.Labels[0]
		if _, ok := values[name]; ok {
			l.addError(b.LabelRanges[0], "Second variable of this name", fmt.Sprintf("There is a variable %q before this one: choose another name.", name))
			continue
		}
		values[name] = l.variable(b, name)
	}
	for _, name := range slices.Sorted(maps.Keys(l.values.Set)) {
		if _, ok := values[name]; !ok {
			l.addError(l.fileStart, "Unknown variable", fmt.Sprintf("There is a value for %q (--set), and the file has no variable of this name%s",
				name, endOf(suggest.DidYouMean(name, slices.Sorted(maps.Keys(values))))))
		}
	}
	l.evaluation = &hcl.EvalContext{Variables: map[string]cty.Value{variablesRoot: cty.ObjectVal(values)}}
	l.checkReferences(&rest, values)
	return &rest
}

// endOf ends a sentence that may end with a suggestion.
func endOf(suggestion string) string {
	if suggestion == "" {
		return "."
	}
	return suggestion
}

// variable returns the value of a block variable.
func (l *loader) variable(b *hclsyntax.Block, name string) cty.Value {
	var v Variable
	if diags := gohcl.DecodeBody(b.Body, nil, &v); diags.HasErrors() {
		l.diags = append(l.diags, diags...)
		return cty.DynamicVal
	}
	text, from, ok := l.values.lookup(name, v.Env)
	if ok {
		return l.given(b, name, text, from, v.Default)
	}
	if v.Default == cty.NilVal || v.Default.IsNull() {
		env := ""
		if v.Env != "" {
			env = ", or the environment variable " + v.Env
		}
		l.addError(b.TypeRange, "Variable without a value", fmt.Sprintf("The variable %q has no default: give it a value by --set %s=VALUE%s.", name, name, env))
		return cty.DynamicVal
	}
	return v.Default
}

// lookup returns the value of a variable that does not stand in the file, and where it comes from.
func (v Values) lookup(name, env string) (text, from string, ok bool) {
	if text, ok := v.Set[name]; ok {
		return text, "--set", true
	}
	if env == "" || v.LookupEnv == nil {
		return "", "", false
	}
	text, ok = v.LookupEnv(env)
	return text, "the environment variable " + env, ok
}

// given returns a value that does not stand in the file, with the type of the default.
func (l *loader) given(b *hclsyntax.Block, name, text, from string, byDefault cty.Value) cty.Value {
	if !utf8.ValidString(text) {
		l.addError(b.TypeRange, "Invalid value", fmt.Sprintf("The value of %q from %s is not valid UTF-8.", name, from))
		return cty.DynamicVal
	}
	value := cty.StringVal(text)
	l.secrets.add(name, value.AsString())
	if byDefault == cty.NilVal || byDefault.IsNull() {
		return value
	}
	if !byDefault.Type().IsPrimitiveType() {
		l.addError(b.TypeRange, "Invalid value", fmt.Sprintf("The variable %q is a list, so %s cannot give its value: write it in the file.", name, from))
		return cty.DynamicVal
	}
	converted, err := convert.Convert(value, byDefault.Type())
	if err != nil {
		l.addError(b.TypeRange, "Invalid value", fmt.Sprintf("The value of %q from %s is not a %s, as its default is.", name, from, byDefault.Type().FriendlyName()))
		return cty.DynamicVal
	}
	return converted
}

// checkReferences adds an error for each name in an expression that is no variable of the file.
func (l *loader) checkReferences(body *hclsyntax.Body, values map[string]cty.Value) {
	for _, a := range body.Attributes {
		for _, t := range a.Expr.Variables() {
			l.checkReference(t, values)
		}
	}
	for _, b := range body.Blocks {
		l.checkReferences(b.Body, values)
	}
}

func (l *loader) checkReference(t hcl.Traversal, values map[string]cty.Value) {
	if t.RootName() != variablesRoot {
		l.addError(t.SourceRange(), "Unknown name", fmt.Sprintf("There is no %q here: write \"%s\" for a text, or var.NAME for a variable.", t.RootName(), t.RootName()))
		return
	}
	name := ""
	if len(t) > 1 {
		switch step := t[1].(type) {
		case hcl.TraverseAttr:
			name = step.Name
		case hcl.TraverseIndex:
			if step.Key.Type() == cty.String {
				name = step.Key.AsString()
			}
		}
	}
	if _, ok := values[name]; !ok {
		l.addError(t.SourceRange(), "Unknown variable", fmt.Sprintf("The file has no variable %q: add a block variable with this name%s", name, endOf(suggest.DidYouMean(name, slices.Sorted(maps.Keys(values))))))
	}
}
