package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// paper is a document with a column as wide as the published paper's and no package beside those it
// had.
const paper = `\documentclass[10pt,twocolumn]{article}
\usepackage{multirow}
\usepackage{colortbl}
\setlength{\textwidth}{516pt}\setlength{\columnsep}{12pt}
\begin{document}
\input{table.tex}
See table \ref{tab_results}.
\end{document}
`

// TestTableCompilesInThePaper: pdflatex takes the table, and it fits the column.
func TestTableCompilesInThePaper(t *testing.T) {
	pdflatex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("pdflatex is not installed: apt-get install texlive-latex-extra")
	}
	for name, run := range runs {
		dir := t.TempDir()
		tables, err := digestOf(run()).tex()
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string][]byte{"table.tex": tables, "paper.tex": []byte(paper)} {
			if err := os.WriteFile(filepath.Join(dir, file), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), pdflatex, "-interaction=nonstopmode", "-halt-on-error", "paper.tex")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "colortbl.sty' not found") || strings.Contains(string(out), "multirow.sty' not found") {
			t.Skip("pdflatex lacks the paper's packages: apt-get install texlive-latex-extra")
		}
		if err != nil || strings.Contains(string(out), "Overfull") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestTeXEscapes: a name cannot become a command.
func TestTeXEscapes(t *testing.T) {
	if got, want := TeXEscape(`\input{a}&%$#_^~µé`), `\textbackslash{}input\{a\}\&\%\$\#\_\textasciicircum{}\textasciitilde{}$\mu$?`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
