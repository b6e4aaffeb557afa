// Package page writes a differential profile as an offline HTML page and as JSON.
//
// The page has the table, and three flame graphs of the same call tree: of the difference, of A and
// of B. It needs no network; the flame graphs need JavaScript, the table does not. Names come from
// files of others, so everything is escaped.
//
// # Limitations
//
// The table has the first [MaxRows] rows; the JSON has all. A function that is narrower than half a
// pixel is not drawn until the reader enlarges a caller.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	"weir/internal/durable"
	"weir/lab/profile"
	"weir/lab/report"
)

// The files of a profile.
const (
	HTMLFile = "profile.html"
	JSONFile = "profile.json"
)

// MaxRows limits the rows of the page's table.
const MaxRows = 200

//go:embed page.tmpl
var source string

//go:embed page.css
var style string

//go:embed flame.js
var script string

var page = template.Must(template.New("profile").Funcs(template.FuncMap{
	"style":  func() template.CSS { return template.CSS(report.Style() + style) },
	"script": func() template.JS { return template.JS(script) },
	"policy": policy,
	"from":   func(callers []string) string { return strings.Join(callers, " < ") },
	"class":  class,
	"first":  func(rows []profile.Row) []profile.Row { return rows[:min(MaxRows, len(rows))] },
}).Parse(source))

// policy returns the page's Content-Security-Policy: its own style and its own script, no request.
func policy() string {
	sum := sha256.Sum256([]byte(script))
	return fmt.Sprintf("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'", base64.StdEncoding.EncodeToString(sum[:]))
}

// class returns the CSS class of a row: more or less where the difference is sure.
func class(r profile.Row) string {
	switch {
	case r.Low > 0:
		return "more"
	case r.High < 0:
		return "less"
	}
	return "open"
}

// Write writes both files into dir, which it creates if necessary.
func Write(dir string, d *profile.Difference) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot write the profile: %w", err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("cannot encode the profile: %w", err)
	}
	html, err := HTML(d)
	if err != nil {
		return fmt.Errorf("cannot make %s: %w", HTMLFile, err)
	}
	if err := durable.ReplaceFile(filepath.Join(dir, JSONFile), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return durable.ReplaceFile(filepath.Join(dir, HTMLFile), html, 0o644)
}

// HTML returns the page.
func HTML(d *profile.Difference) ([]byte, error) {
	var b bytes.Buffer
	err := page.Execute(&b, d)
	return b.Bytes(), err
}
