// Package candidate reads the paths that a component tries when the request's path names nothing.
//
// # Limitations
//
// The only placeholder is {path}, once in a candidate.
package candidate

import (
	"fmt"
	"strings"
)

// placeholder stands for the request's path.
const placeholder = "{path}"

// Max is the number of candidates that a list may have.
const Max = 16

// Candidate is a path to try.
type Candidate struct {
	before, behind string
	// HasPath reports whether the request's path is a part of it.
	HasPath bool
}

// Parse reads a candidate: a path, in which {path} stands for the request's. The text behind {path}
// has no slash, so that the candidate is in the folder of the request's path, or in that below the
// text before {path}.
func Parse(text string) (Candidate, error) {
	before, behind, hasPath := strings.Cut(text, placeholder)
	before = strings.TrimSuffix(before, "/")
	switch {
	case strings.ContainsAny(before+behind, "{}"):
		return Candidate{}, fmt.Errorf("%q has braces other than one %s", text, placeholder)
	case !hasPath:
		return Candidate{before: "/" + strings.TrimPrefix(text, "/")}, nil
	case strings.Contains(behind, "/") || behind == "" && before == "":
		return Candidate{}, fmt.Errorf("%q does not name another file in a folder: write one such as \"{path}.html\"", text)
	}
	if before != "" {
		before = "/" + strings.TrimPrefix(before, "/")
	}
	return Candidate{before, behind, true}, nil
}

// Example returns the candidate for some path, to check its form.
func (c Candidate) Example() string {
	example, _ := c.For("/x")
	return example
}

// For returns the candidate for a request's path, and false if that has none: a path that ends in a
// slash names a folder, and one with parameters is read in several ways.
func (c Candidate) For(path string) (string, bool) {
	if !c.HasPath {
		return c.before, true
	}
	if path == "" || path[0] != '/' || strings.HasSuffix(path, "/") || strings.Contains(path, ";") {
		return "", false
	}
	return c.before + path + c.behind, true
}
