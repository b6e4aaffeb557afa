package report

import (
	"slices"
	"testing"
	"weir/lab/report/format"
)

// TestAReportIsShort checks that at most maxOpenSections sections are open, that every section has
// content, and that no table has a row or a column of dashes.
func TestAReportIsShort(t *testing.T) {
	for name, run := range runs {
		doc := documentOf(digestOf(run()))
		open := 0
		for _, s := range doc.Sections {
			if !s.Folded {
				open++
			}
			if len(s.Blocks) == 0 {
				t.Errorf("%s: got the section %s without content", name, s.ID)
			}
			for _, b := range s.Blocks {
				if b.Table != nil {
					checkValues(t, name, b.Table)
				}
			}
		}
		if open > maxOpenSections {
			t.Errorf("%s: got %d open sections, want at most %d", name, open, maxOpenSections)
		}
		if r := run(); len(r.Trials) > 0 && doc.Figure == nil {
			t.Errorf("%s: got no main figure", name)
		}
	}
}

func checkValues(t *testing.T, name string, table *Table) {
	t.Helper()
	for i := 1; i < len(table.Head); i++ {
		if !slices.ContainsFunc(table.Rows, func(r []string) bool { return hasValue(r[i]) }) {
			t.Errorf("%s: got the empty column %q in %q", name, table.Head[i], table.Caption)
		}
	}
	for _, r := range table.Rows {
		if !slices.ContainsFunc(r[1:], hasValue) {
			t.Errorf("%s: got the empty row %q in %q", name, r[0], table.Caption)
		}
	}
}

// TestTrimKeepsGroupsAndHeadings removes a row and a column, and checks what depends on their
// places.
func TestTrimKeepsGroupsAndHeadings(t *testing.T) {
	tab := &Table{Align: "lrrl", Head: []string{"a", "b", "c", "d"}, Over: []Span{{"", 1}, {"b and c", 2}, {"", 1}}, Groups: []int{1, 2},
		Rows: [][]string{{"1", format.Absent, "x", "y"}, {"2", format.Absent, format.Absent, ""}, {"3", "", "x", "y"}}}
	tab.Trim()
	if !slices.Equal(tab.Head, []string{"a", "c", "d"}) || tab.Align != "lrl" || !slices.Equal(tab.Over, []Span{{"", 1}, {"b and c", 1}, {"", 1}}) {
		t.Errorf("got the columns %v, aligned %s, under %v", tab.Head, tab.Align, tab.Over)
	}
	if len(tab.Rows) != 2 || !slices.Equal(tab.Groups, []int{1}) {
		t.Errorf("got %d rows in groups that start at %v, want 2 rows and a group at 1", len(tab.Rows), tab.Groups)
	}
}
