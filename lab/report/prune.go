package report

import (
	"slices"
	"weir/lab/report/figure"
	"weir/lab/report/format"
)

// prune removes from the document what has no content: columns and rows of tables without a value,
// tables without such rows, charts without data, blocks and sections without content.
func (doc *document) prune() {
	for i := range doc.Sections {
		doc.Sections[i].Blocks = prunedBlocks(doc.Sections[i].Blocks)
	}
	doc.Sections = slices.DeleteFunc(doc.Sections, func(s Section) bool { return len(s.Blocks) == 0 })
}

func prunedBlocks(blocks []Block) []Block {
	var kept []Block
	for i, b := range blocks {
		if b.Table != nil {
			b.Table.Trim()
		}
		b.Figures = slices.DeleteFunc(b.Figures, func(f *figure.Figure) bool { return f == nil })
		b.Inside = prunedBlocks(b.Inside)
		lastOfHeading := i == len(blocks)-1 || blocks[i+1].Head != ""
		if !b.isEmpty() && !(b.Head != "" && lastOfHeading) {
			kept = append(kept, b)
		}
	}
	return kept
}

// isEmpty reports whether the block has no content.
func (b *Block) isEmpty() bool {
	if b.Table != nil {
		return !b.Table.hasValues()
	}
	return b.Head+b.Text+b.Code == "" && len(b.Items) == 0 && len(b.Figures) == 0 && len(b.Inside) == 0
}

// hasValues reports whether the table has a row and a column beside the first.
func (t *Table) hasValues() bool { return len(t.Rows) > 0 && len(t.Head) > 1 }

// hasValue reports whether a cell of a table has content.
func hasValue(cell string) bool { return cell != "" && cell != format.Absent }

// Trim removes the rows that have a value only in the first column, and the columns without any
// value. It returns t.
func (t *Table) Trim() *Table {
	for i := len(t.Rows) - 1; i >= 0; i-- {
		if len(t.Rows[i]) > 1 && !slices.ContainsFunc(t.Rows[i][1:], hasValue) {
			t.removeRow(i)
		}
	}
	for i := len(t.Head) - 1; i > 0; i-- {
		if !slices.ContainsFunc(t.Rows, func(r []string) bool { return hasValue(r[i]) }) {
			t.removeColumn(i)
		}
	}
	return t
}

func (t *Table) removeRow(i int) {
	t.Rows = slices.Delete(t.Rows, i, i+1)
	var groups []int
	for _, g := range t.Groups {
		if g > i {
			g--
		}
		if g > 0 && g < len(t.Rows) && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	t.Groups = groups
}

func (t *Table) removeColumn(i int) {
	t.Head, t.Align = slices.Delete(t.Head, i, i+1), t.Align[:i]+t.Align[i+1:]
	for k := range t.Rows {
		t.Rows[k] = slices.Delete(t.Rows[k], i, i+1)
	}
	end := 0
	for k := range t.Over {
		end += t.Over[k].Span
		if i < end {
			t.Over[k].Span--
			break
		}
	}
	t.Over = slices.DeleteFunc(t.Over, func(o Span) bool { return o.Span == 0 })
}
