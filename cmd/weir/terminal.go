package main

import (
	"encoding/json"
	"os"

	"golang.org/x/term"

	"weir/lab/subject"
)

// terminal is the output of a command: results go to out, everything else to err.
type terminal struct {
	out, err       *os.File
	outTTY, errTTY bool // whether each is a terminal
}

func newTerminal(out, err *os.File) *terminal {
	return &terminal{out: out, err: err, outTTY: isTerminal(out), errTTY: isTerminal(err)}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// colour reports whether out may have colours: it is a terminal, and NO_COLOR is not set
// (https://no-color.org).
func (t *terminal) colour() bool { return t.outTTY && os.Getenv("NO_COLOR") == "" }

// width returns the number of columns of out.
func (t *terminal) width() int { return columnsOf(t.out) }

// columnsOf returns the number of columns of a terminal, and 80 for anything else.
func columnsOf(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// json writes v to out as indented JSON.
func (t *terminal) json(v any) error {
	e := json.NewEncoder(t.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// projectRoot returns the root of the project of the current folder.
func projectRoot() string {
	here, err := os.Getwd()
	if err != nil {
		return "."
	}
	return subject.Project(here)
}
