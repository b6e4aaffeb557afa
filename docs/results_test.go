// Package docs tests the documents against the code, so that they cannot rot.
//
// Limitations: the tests find what is missing and what does not work, not what is hard to read.
package docs

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/lab/result"
)

// schema adds the JSON fields of every struct reachable from v, by the struct's name.
func schema(v reflect.Type, into map[string][]string) {
	switch v.Kind() {
	case reflect.Slice, reflect.Pointer, reflect.Map:
		schema(v.Elem(), into)
	case reflect.Struct:
		if v == reflect.TypeFor[time.Time]() || into[v.Name()] != nil {
			return
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Field(i).Tag.Get("json"), ",")
			into[v.Name()] = append(into[v.Name()], name)
		}
		for i := range v.NumField() {
			schema(v.Field(i).Type, into)
		}
	}
}

var (
	section = regexp.MustCompile(`(?m)^## (\w+)$`)
	named   = regexp.MustCompile("`([a-z0-9_]+)`")
)

// documented returns the names in the first column of the tables, by heading.
func documented(text string) map[string][]string {
	fields := map[string][]string{}
	heads := section.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		name := text[h[2]:h[3]]
		fields[name] = []string{}
		for line := range strings.SplitSeq(text[h[1]:end], "\n") {
			cells := strings.Split(line, "|")
			if len(cells) < 4 {
				continue
			}
			for _, m := range named.FindAllStringSubmatch(cells[1], -1) {
				fields[name] = append(fields[name], m[1])
			}
		}
	}
	return fields
}

// TestEveryFieldOfTheResultsIsDocumented, and nothing else is.
func TestEveryFieldOfTheResultsIsDocumented(t *testing.T) {
	text, err := os.ReadFile("results.md")
	if err != nil {
		t.Fatal(err)
	}
	code := map[string][]string{}
	schema(reflect.TypeFor[result.Results](), code)
	page := documented(string(text))
	for name, fields := range code {
		for _, f := range fields {
			if !slices.Contains(page[name], f) {
				t.Errorf("results.md, section %s: got no explanation of %s, want every field of the code", name, f)
			}
		}
	}
	for name, fields := range page {
		for _, f := range fields {
			if !slices.Contains(code[name], f) {
				t.Errorf("results.md, section %s: got %s, want only fields of the code", name, f)
			}
		}
	}
}
