package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// column is a column of a table.
type column struct {
	title string
	right bool // aligned right, as numbers are
}

// writePlainTable is writeTable without a limit of width and without colours.
func writePlainTable(w io.Writer, columns []column, rows [][]string) {
	writeTable(w, columns, rows, 0, nil)
}

// writeTable writes rows under titles. Each column is as wide as its widest cell; the last is cut
// at the width of the terminal (0: not cut). paint, which may be nil, colours a padded cell of a
// row (-1: the titles).
func writeTable(w io.Writer, columns []column, rows [][]string, width int, paint func(row, column int, cell string) string) {
	widths := make([]int, len(columns))
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i], widths[i] = c.title, utf8.RuneCountInString(c.title)
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	for n := -1; n < len(rows); n++ {
		cells, used := titles, 0
		if n >= 0 {
			cells = rows[n]
		}
		var line strings.Builder
		for i, cell := range cells {
			last := i == len(cells)-1
			cell = pad(cell, widths[i], columns[i].right, last)
			if last && width > 0 {
				cell = cut(cell, width-used)
			}
			used += utf8.RuneCountInString(cell) + 2
			if paint != nil {
				cell = paint(n, i, cell)
			}
			line.WriteString(cell)
			if !last {
				line.WriteString("  ")
			}
		}
		fmt.Fprintln(w, line.String())
	}
}

// pad fills a cell to its width, except for the last of a row.
func pad(cell string, width int, right, last bool) string {
	blanks := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
	switch {
	case right:
		return blanks + cell
	case last:
		return cell
	}
	return cell + blanks
}

// cut shortens text to width columns, 12 at least.
func cut(text string, width int) string {
	runes := []rune(text)
	if width = max(width, 12); len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}

// Colours of a terminal: from the eight that all terminals have and all themes keep readable.
const (
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// tint colours text if on.
func tint(on bool, colour, text string) string {
	if !on {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
