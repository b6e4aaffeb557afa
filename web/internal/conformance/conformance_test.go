package conformance

import (
	"regexp"
	"testing"
)

// TestRowsAreNamedAndCiteASection: each name is that of one row, and so is each in Stricter.
func TestRowsAreNamedAndCiteASection(t *testing.T) {
	section := regexp.MustCompile(`^(9110|9112|9113|6585), [0-9A-C][0-9.]*$`)
	names := map[string]bool{}
	for _, row := range Rows() {
		if names[row.Name] {
			t.Errorf("got two rows %q, want one", row.Name)
		}
		names[row.Name] = true
		if !section.MatchString(row.Section) {
			t.Errorf("%s: got the section %q, want RFC, SECTION", row.Name, row.Section)
		}
	}
	for name := range Stricter {
		if !names[name] {
			t.Errorf("got %q in Stricter, want names of rows alone", name)
		}
	}
}

func TestJoinShowsWhetherTheConnectionWentOn(t *testing.T) {
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{nil, "nothing"},
		{[]string{"GET /", "GET /next"}, "GET /"},
		{[]string{"GET /"}, "GET /; close"},
		{[]string{"100", "POST /", "GET /next"}, "100, POST /"},
		{[]string{"400"}, "400"},
		{[]string{"400", "GET /next"}, "400; open"},
	} {
		if got := Join(c.parts); got != c.want {
			t.Errorf("%q: got %s, want %s", c.parts, got, c.want)
		}
	}
}
