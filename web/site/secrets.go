package site

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
)

const (
	// minSecret is the length in bytes from which a given value is hidden. Shorter ones, such as
	// ports, occur in other words.
	minSecret = 6
	// minFragment is the length from which a part of a hidden value is hidden in errors of a file.
	minFragment = 5
)

// secrets are the values that do not stand in the file, which may be passwords: errors and events
// do not show them. Its methods are safe for concurrent use.
type secrets struct {
	mu   sync.Mutex
	name map[string]string // of the variable, by value
}

func newSecrets() *secrets { return &secrets{name: map[string]string{}} }

// add hides a value from now on.
func (s *secrets) add(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(value) >= minSecret {
		s.name[value] = name
	}
}

// hidden is a hidden value in a form in which it may occur.
type hidden struct{ form, name string }

// forms returns the forms of all values, the longest first.
func (s *secrets) forms() []hidden {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []hidden
	for value, name := range s.name {
		quoted := strconv.Quote(value)
		for _, form := range []string{value, quoted[1 : len(quoted)-1], url.QueryEscape(value), url.PathEscape(value), url.UserPassword("", value).String()[1:]} {
			all = append(all, hidden{form, name})
		}
	}
	slices.SortFunc(all, func(a, b hidden) int {
		return cmp.Or(len(b.form)-len(a.form), strings.Compare(a.form, b.form), strings.Compare(a.name, b.name))
	})
	return all
}

// hide returns a text in which the names of variables replace their values.
func (s *secrets) hide(text string) string {
	for _, h := range s.forms() {
		text = strings.ReplaceAll(text, h.form, fmt.Sprintf("(value of var.%s)", h.name))
	}
	return text
}

// hideFragments is hide for the errors of a file: they may quote a part of a value, such as the
// port that an address would have.
func (s *secrets) hideFragments(text string) string {
	text = s.hide(text)
	for _, h := range s.forms() {
		text = withoutFragments(text, h.form)
	}
	return text
}

// withoutFragments replaces the parts of a text that are parts of a value by an ellipsis.
func withoutFragments(text, value string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		n := 0
		for i+n < len(text) && strings.Contains(value, text[i:i+n+1]) {
			n++
		}
		if n >= minFragment {
			b.WriteString("...")
			i += n
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// hideIn returns errors of a file without hidden values. HCL would also print the values of the
// variables in the expression that failed.
func (s *secrets) hideIn(diags hcl.Diagnostics) hcl.Diagnostics {
	var all hcl.Diagnostics
	for _, d := range diags {
		one := *d
		one.Expression, one.EvalContext, one.Extra = nil, nil, nil
		one.Summary, one.Detail = s.hide(d.Summary), s.hideFragments(d.Detail)
		all = append(all, &one)
	}
	return all
}
