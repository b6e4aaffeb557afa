package symbol

import (
	"bytes"
	"cmp"
	"debug/elf"
	"debug/gosym"
	"fmt"
	"os"
	"slices"
	"strings"
)

// maxFile limits the bytes of an ELF file whose tables are read.
const maxFile = 1 << 30

// An Image is an ELF file: a program or a library.
type Image struct {
	*Table
	Go            bool // built by the Go compiler
	FramePointers bool // functions keep a frame pointer, so call chains through them are right
	Stripped      bool // only exported names are known

	loads []elf.ProgHeader
}

// ReadImage reads the tables of an ELF file. One without names has an empty table.
func ReadImage(path string) (_ *Image, err error) {
	defer func() { // debug/elf and debug/gosym may panic on a malformed file
		if p := recover(); p != nil {
			err = fmt.Errorf("%s is no valid ELF file: %v", path, p)
		}
	}()
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is no file of at most %d MB", path, maxFile>>20)
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := &Image{}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			m.loads = append(m.loads, p.ProgHeader)
		}
	}
	symbols := elfSymbols(f)
	m.Stripped = f.Section(".symtab") == nil
	fromGo := goSymbols(f)
	if m.Go = len(fromGo) > 0; m.Go {
		symbols, m.Stripped = append(symbols, fromGo...), false // Go's names win: they are complete
	}
	m.Table = NewTable(symbols)
	m.FramePointers = m.Go || keepsFramePointers(f, m.symbols)
	return m, nil
}

// Address returns the address in the file's own tables of a byte at an offset in the file; false
// if no segment has it.
func (m *Image) Address(offset uint64) (uint64, bool) {
	for _, p := range m.loads {
		if offset >= p.Off && offset-p.Off < p.Filesz {
			return offset - p.Off + p.Vaddr, true
		}
	}
	return 0, false
}

// elfSymbols returns the functions of the file's symbol tables.
func elfSymbols(f *elf.File) (all []Symbol) {
	exported, _ := f.DynamicSymbols() // an error means that there are none
	own, _ := f.Symbols()
	for _, s := range append(exported, own...) {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC && elf.ST_TYPE(s.Info) != elf.STT_GNU_IFUNC || s.Section == elf.SHN_UNDEF || s.Value == 0 {
			continue
		}
		end := s.Value + max(s.Size, 1)
		if s.Size == 0 && elf.ST_BIND(s.Info) == elf.STB_LOCAL {
			continue // a label within a function
		}
		all = append(all, Symbol{s.Value, end, cleanName(Demangle(s.Name))})
	}
	// of the names at one address the last one counts: write, not __GI___write
	slices.SortStableFunc(all, func(a, b Symbol) int { return cmp.Compare(underscores(b.Name), underscores(a.Name)) })
	return all
}

func underscores(name string) int { return len(name) - len(strings.TrimLeft(name, "_")) }

// goSymbols returns the functions of a Go program's pclntab; nil if the file has none.
func goSymbols(f *elf.File) (all []Symbol) {
	var table *elf.Section
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if s := f.Section(name); s != nil {
			table = s
		}
	}
	text := f.Section(".text")
	if table == nil || text == nil {
		return nil
	}
	data, err := table.Data()
	if err != nil {
		return nil
	}
	t, err := gosym.NewTable(nil, gosym.NewLineTable(data, textStart(f, text.Addr)))
	if err != nil {
		return nil
	}
	for _, fn := range t.Funcs {
		all = append(all, Symbol{fn.Entry, fn.End, cleanName(fn.Name)})
	}
	return all
}

// textStart returns the address of runtime.text, from which pclntab counts. It is the start of
// .text unless C code was linked before it.
func textStart(f *elf.File, start uint64) uint64 {
	symbols, _ := f.Symbols()
	for _, s := range symbols {
		if s.Name == "runtime.text" {
			return s.Value
		}
	}
	return start
}

// A function that keeps a frame pointer starts with these instructions on x86-64.
var (
	pushRBP = byte(0x55)               // push %rbp
	movRBP  = []byte{0x48, 0x89, 0xe5} // mov %rsp,%rbp
)

const (
	prologue = 24  // bytes of a function among which they are
	probeMax = 400 // functions to look at
)

// keepsFramePointers reports whether most functions of the file set up a frame pointer. Other
// architectures than x86-64 are believed to, as their calling conventions ask for it.
func keepsFramePointers(f *elf.File, symbols []Symbol) bool {
	text := f.Section(".text")
	if f.Machine != elf.EM_X86_64 {
		return true
	}
	if text == nil {
		return false
	}
	code, err := text.Data()
	if err != nil {
		return false
	}
	seen, with := 0, 0
	for _, s := range symbols {
		if s.Start < text.Addr || s.Start+64 > text.Addr+uint64(len(code)) || s.End-s.Start < 64 {
			continue // leaf functions need no frame
		}
		start := code[s.Start-text.Addr:][:prologue]
		if seen++; bytes.Contains(start, movRBP) && bytes.IndexByte(start, pushRBP) >= 0 {
			with++
		}
		if seen == probeMax {
			break
		}
	}
	return seen > 0 && 2*with > seen
}
