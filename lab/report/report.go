// Package report writes the results of a run as an HTML page, as Markdown, as the paper's table, as
// figures, as comma-separated values, and as a summary for a terminal.
//
// A Digest (digest.go) groups the trials by cell and computes means and confidence intervals. From
// it a document of sections is made once (document.go), and rendered as HTML and as Markdown. A
// figure is described once (report/figure) and drawn as SVG and as PDF. Verdicts come from
// lab/compare through the results. A sentence claims an order only if a comparison found a
// significant difference.
//
// What the sections are and how they name things depends on the workload: its folder has a Kind.
// This package has the sections and the formats that several kinds share.
//
// Names of subjects, reasons and commands come from users, so every output escapes them.
//
// # Limitations
//
// The confidence intervals of cell means are Student's t over blocks, without a correction for
// their number; only verdicts have one. Sentences and open figures cover the first load with the
// most connections; the others are folded. Figures of an earlier plan in the same directory are not
// removed.
package report

import (
	"fmt"
	"os"
	"path/filepath"

	"weir/internal/durable"
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

// Write writes the report of r, whose workload has the kind k, into dir, which it creates if
// necessary: report.html, report.md, table.tex, trials.csv, and figures as SVG and PDF. Even
// empty results have a report. The error says which file could not be written.
func Write(dir string, r *result.Results, k Kind) error {
	if err := os.MkdirAll(filepath.Join(dir, figuresDir), 0o755); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	d := NewDigest(r, k)
	doc := documentOf(d)
	for name, content := range map[string]func() ([]byte, error){htmlFile: doc.html, markdownFile: doc.markdown, texFile: d.tex,
		csvFile: func() ([]byte, error) { return trialsCSV(r), nil }} {
		text, err := content()
		if err == nil {
			err = replaceFile(filepath.Join(dir, name), text)
		}
		if err != nil {
			return fmt.Errorf("cannot write %s of the report: %w", name, err)
		}
	}
	for _, f := range doc.figures() {
		if err := writeFigure(filepath.Join(dir, figuresDir, f.Name), f); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile writes a file as a whole. It is not synced, because it can be written again.
func replaceFile(path string, content []byte) error {
	return durable.Files{Unsynced: true}.ReplaceFile(path, content, 0o644)
}

// writeFigure writes f as path.svg and path.pdf.
func writeFigure(path string, f *figure.Figure) error {
	pdf, err := f.PDF()
	if err != nil {
		return err
	}
	for ext, content := range map[string][]byte{".svg": f.SVG(), ".pdf": pdf} {
		if err := replaceFile(path+ext, content); err != nil {
			return fmt.Errorf("cannot write a figure: %w", err)
		}
	}
	return nil
}
