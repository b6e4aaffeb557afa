// Package report shows the results of a run: as a page, as Markdown, as the paper's table, as
// figures, as comma-separated values, and as a summary on a terminal.
//
// A run is first digested (digest.go: trials by cell, means, intervals), then written once as a
// document of sections (document.go), which HTML and Markdown both render, so that they cannot
// disagree. Figures are described once by report/figure and drawn as SVG and as PDF. Nothing here
// measures or decides: verdicts come from lab/compare through the results, and a sentence claims an
// order only where a verdict does.
//
// Names of subjects, reasons and commands come from users: everything is escaped for where it goes.
//
// # Limitations
//
// The intervals of cell means are Student's t over blocks and not corrected for their number; only
// verdicts are. Figures that can show one load show the first with the most connections and fold
// the others. Old figures of another plan in the same directory are left alone.
package report

import (
	"fmt"
	"os"
	"path/filepath"

	"weir/lab/report/figure"
	"weir/lab/result"
)

// The files of a report, below the directory of its run.
const (
	htmlFile     = "report.html"
	markdownFile = "report.md"
	texFile      = "table.tex"
	csvFile      = "trials.csv"
	figuresDir   = "figures"
)

// Write writes the report of r into dir, which it makes if need be: report.html, report.md,
// table.tex, trials.csv, and figures as SVG and PDF. Any results give a report, even none; an error
// means that the files could not be written.
func Write(dir string, r *result.Results) error {
	if err := os.MkdirAll(filepath.Join(dir, figuresDir), 0o755); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	doc := documentOf(r)
	page, err := doc.html()
	if err != nil {
		return fmt.Errorf("cannot make %s: %w", htmlFile, err)
	}
	files := map[string][]byte{htmlFile: page, markdownFile: doc.markdown(), texFile: tex(r), csvFile: trialsCSV(r)}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("cannot write the report: %w", err)
		}
	}
	for _, f := range doc.figures() {
		if err := writeFigure(filepath.Join(dir, figuresDir, f.Name), f); err != nil {
			return err
		}
	}
	return nil
}

// writeFigure writes f beside its other form: path.svg and path.pdf.
func writeFigure(path string, f *figure.Figure) error {
	pdf, err := f.PDF()
	if err != nil {
		return err
	}
	for ext, content := range map[string][]byte{".svg": f.SVG(), ".pdf": pdf} {
		if err := os.WriteFile(path+ext, content, 0o644); err != nil {
			return fmt.Errorf("cannot write a figure: %w", err)
		}
	}
	return nil
}
