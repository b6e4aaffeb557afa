// Package symbol finds the names of functions by their addresses: in ELF files, in the tables of Go
// programs, in the kernel's list of symbols, and in the perf maps of compilers at run time.
//
// Each source is a [Table]. An [Image] is an ELF file with its table. A stripped Go program keeps
// the runtime's function table (pclntab), so it has names; another stripped file has the names that
// it exports.
//
// # Limitations
//
// Functions that a compiler inlined have no address, so they count as part of their callers. Names
// of C++ with templates or operators, and of Rust's v0 mangling, stay as they are in the file.
// Separate debug files (.gnu_debuglink) and DWARF are not read.
package symbol

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"weir/internal/printable"
)

// maxName limits the bytes of a name, which comes from a file of others.
const maxName = 300

// A Symbol is a named range of addresses.
type Symbol struct {
	Start, End uint64 // End is exclusive; 0: up to the next symbol
	Name       string
}

// A Table finds symbols by address. It does not change.
type Table struct {
	symbols []Symbol // ascending by Start
}

// NewTable returns a table of symbols. Of several at one address the last one counts.
func NewTable(symbols []Symbol) *Table {
	slices.SortStableFunc(symbols, func(a, b Symbol) int { return cmp.Compare(a.Start, b.Start) })
	kept := symbols[:0]
	for _, s := range symbols {
		if n := len(kept); n > 0 && kept[n-1].Start == s.Start {
			kept[n-1] = s
			continue
		}
		kept = append(kept, s)
	}
	return &Table{kept}
}

// Len returns the number of symbols.
func (t *Table) Len() int { return len(t.symbols) }

// Find returns the name of the function at an address; "" if there is none.
func (t *Table) Find(addr uint64) string {
	i := sort.Search(len(t.symbols), func(i int) bool { return t.symbols[i].Start > addr }) - 1
	if i < 0 || t.symbols[i].End != 0 && addr >= t.symbols[i].End {
		return ""
	}
	return t.symbols[i].Name
}

// cleanName shortens a name that is too long, and replaces what would control a terminal.
func cleanName(name string) string {
	name = printable.Text(name)
	if len(name) > maxName {
		return strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return name
}
