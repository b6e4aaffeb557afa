package report

import "weir/lab/report/figure"

// clean applies figure.Clean to every text of the document.
func (doc *document) clean() {
	doc.Title, doc.Question = figure.Clean(doc.Title), figure.Clean(doc.Question)
	cleanAll(doc.Answer)
	cleanAll(doc.Caveats)
	if doc.Figure != nil {
		cleanFigure(doc.Figure)
	}
	for _, s := range doc.Sections {
		cleanBlocks(s.Blocks)
	}
}

func cleanFigure(f *figure.Figure) {
	f.Title = figure.Clean(f.Title)
	cleanAll(f.Data.Head)
	for _, r := range f.Data.Rows {
		cleanAll(r)
	}
}

func cleanAll(s []string) {
	for i := range s {
		s[i] = figure.Clean(s[i])
	}
}

func cleanBlocks(blocks []Block) {
	for i := range blocks {
		b := &blocks[i]
		b.Head, b.Text, b.Code, b.Fold = figure.Clean(b.Head), figure.Clean(b.Text), figure.Clean(b.Code), figure.Clean(b.Fold)
		cleanAll(b.Items)
		if b.Table != nil {
			b.Table.Caption = figure.Clean(b.Table.Caption)
			cleanAll(b.Table.Head)
			for k := range b.Table.Over {
				b.Table.Over[k].Text = figure.Clean(b.Table.Over[k].Text)
			}
			for _, r := range b.Table.Rows {
				cleanAll(r)
			}
		}
		for _, f := range b.Figures {
			cleanFigure(f)
		}
		cleanBlocks(b.Inside)
	}
}
