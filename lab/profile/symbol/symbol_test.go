package symbol

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestFindReturnsTheFunctionAroundAnAddress(t *testing.T) {
	table := NewTable([]Symbol{{100, 200, "b"}, {10, 0, "a"}, {300, 310, "old"}, {300, 320, "new"}})
	for addr, want := range map[uint64]string{9: "", 10: "a", 99: "a", 100: "b", 199: "b", 200: "", 315: "new", 320: ""} {
		if got := table.Find(addr); got != want {
			t.Errorf("address %d: got %q, want %q", addr, got, want)
		}
	}
}

func TestThisProgramIsRead(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elf.Open(exe); err != nil {
		t.Skip("this system's programs are no ELF files")
	}
	m, err := ReadImage(exe)
	if err != nil {
		t.Fatal(err)
	}
	if !m.Go || !m.FramePointers || m.Stripped {
		t.Errorf("got %+v, want a Go program with frame pointers and names", m)
	}
	addr := uint64(reflect.ValueOf(Demangle).Pointer())
	if got := m.Find(addr); got != "weir/lab/profile/symbol.Demangle" {
		t.Errorf("got %q at the address of Demangle", got)
	}
}

// compile compiles C code, and returns the program's path.
func compile(t *testing.T, code string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "a.c"), filepath.Join(dir, "a")
	if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, append(flags, "-o", program, source)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

const cCode = `
volatile long total;
__attribute__((noinline)) long callee(long n) { for (long i = 0; i < n; i++) total += i * n; return total; }
__attribute__((noinline)) long caller(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += callee(i) * callee(i + 1) - callee(sum); return sum; }
int main(int argc, char **argv) { (void)argv; return (int)(caller(argc) + callee(argc) * caller(argc + 1)); }
`

func TestFramePointersOfCProgramsAreRecognised(t *testing.T) {
	for flag, want := range map[string]bool{"-fno-omit-frame-pointer": true, "-fomit-frame-pointer": false} {
		m, err := ReadImage(compile(t, cCode, "-O2", flag))
		if err != nil {
			t.Fatal(err)
		}
		if m.FramePointers != want && elf.EM_X86_64 == machineOf(t) {
			t.Errorf("%s: got frame pointers %t, want %t", flag, m.FramePointers, want)
		}
		found := false
		for _, s := range m.symbols {
			found = found || s.Name == "caller"
		}
		if !found || m.Go || m.Stripped {
			t.Errorf("%s: got %d symbols, want one of the function caller", flag, m.Len())
		}
	}
}

func machineOf(t *testing.T) elf.Machine {
	t.Helper()
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	return f.Machine
}

func TestAStrippedProgramHasNoNames(t *testing.T) {
	m, err := ReadImage(compile(t, cCode, "-s"))
	if err != nil {
		t.Fatal(err)
	}
	if !m.Stripped || m.FramePointers {
		t.Errorf("got %+v, want a stripped program without known frame pointers", m)
	}
}

func TestAFileThatIsNoProgramIsAnError(t *testing.T) {
	for _, path := range []string{"symbol_test.go", ".", "/dev/zero", filepath.Join(t.TempDir(), "none")} {
		if m, err := ReadImage(path); err == nil {
			t.Errorf("%s: got %v, want an error", path, m)
		}
	}
}

func FuzzImage(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if m, err := ReadImage(file); err == nil {
			m.Find(0)
			m.Address(0)
		}
	})
}

func TestKernelSymbolsAreParsed(t *testing.T) {
	table, err := parseKernel(strings.NewReader("ffffffff81000000 T _text\nffffffff81000010 t __x64_sys_write\nffffffff82000000 D data\nffffffffc0000000 t init\t[ext4]\nbad line here\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Find(0xffffffff81000020); got != "__x64_sys_write" || table.Len() != 3 {
		t.Errorf("got %q of %d symbols, want __x64_sys_write of 3", got, table.Len())
	}
}

func TestHiddenKernelSymbolsAreAnError(t *testing.T) {
	if _, err := parseKernel(strings.NewReader("0000000000000000 T _text\n0000000000000000 T _stext\n")); !errors.Is(err, ErrHidden) {
		t.Errorf("got %v, want ErrHidden", err)
	}
}

func TestSystemCallsAreRecognised(t *testing.T) {
	for function, want := range map[string]string{"__x64_sys_write": "write", "ksys_read": "read", "__sys_sendto": "sendto", "__x64_sys_newfstat": "fstat",
		"do_epoll_wait.part.0": "epoll_wait", "vfs_write": "", "": ""} {
		if got := SystemCall(function); got != want {
			t.Errorf("%s: got %q, want %q", function, got, want)
		}
	}
}

func TestPerfMapIsParsed(t *testing.T) {
	table := parsePerfMap(strings.NewReader("7f00 10 LazyCompile old\n7f00 20 JS:*handle /srv/app/server.js:3:5\nzz 10 bad\n8000 0 empty\nffffffffffffffff 10 overflow\n0x9000 10 int Main.run(int)"))
	for addr, want := range map[uint64]string{0x7f1f: "handle (server.js:3:5)", 0x7f20: "", 0x8000: "", 0x9001: "int Main.run(int)"} {
		if got := table.Find(addr); got != want {
			t.Errorf("address %#x: got %q, want %q", addr, got, want)
		}
	}
}

func TestNamesDoNotControlTheTerminal(t *testing.T) {
	long := strings.Repeat("ü", maxName)
	table := parsePerfMap(strings.NewReader("1000 10 a\x1b[2J\x00\u202eb\n2000 10 " + long))
	if got := table.Find(0x1000); got != "a\ufffd[2J\ufffd\ufffdb" {
		t.Errorf("got %q, want printable characters only", got)
	}
	if got := table.Find(0x2000); got != strings.Repeat("ü", maxName/2)+"…" {
		t.Errorf("got a name of %d bytes, %q; want whole characters", len(got), got)
	}
}

func FuzzPerfMap(f *testing.F) {
	f.Add("7f00 20 JS:*handle /srv/app/server.js:3:5\n")
	f.Fuzz(func(t *testing.T, text string) {
		table := parsePerfMap(strings.NewReader(text))
		var again strings.Builder
		for _, s := range table.symbols {
			if s.Start >= s.End || len(s.Name) > maxName+len("…") {
				t.Fatalf("got %v, want a range that is not empty and a name of at most %d bytes", s, maxName)
			}
			if !strings.HasPrefix(s.Name, "JS:") && len(s.Name) <= maxName {
				fmt.Fprintf(&again, "%x %x %s\n", s.Start, s.End-s.Start, s.Name)
			} else {
				return
			}
		}
		if strings.ContainsAny(text, "\r") {
			return
		}
		if got := parsePerfMap(strings.NewReader(again.String())); got.Len() != table.Len() {
			t.Errorf("got %d symbols, and %d when written and parsed again", table.Len(), got.Len())
		}
	})
}

func TestNestedNamesAreDemangled(t *testing.T) {
	for name, want := range map[string]string{
		"_ZN3std2io5Write9write_all17h0123456789abcdefE":                        "std::io::Write::write_all",
		"_ZN4node10StreamBase4ReadE":                                            "node::StreamBase::Read",
		"_ZN36_$LT$T$u20$as$u20$core..any..Any$GT$7type_id17h0123456789abcdefE": "<T as core::any::Any>::type_id",
		"main": "main", "_ZN": "_ZN", "_ZN99xE": "_ZN99xE", "_ZN3abc": "_ZN3abc", "_RNvC5crate3fn": "_RNvC5crate3fn",
	} {
		if got := Demangle(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func FuzzDemangle(f *testing.F) {
	f.Add("_ZN3std2io5Write9write_all17h0123456789abcdefE")
	f.Fuzz(func(t *testing.T, name string) {
		if got := Demangle(name); len(got) > len(name) {
			t.Errorf("got %q from %q, want no longer name", got, name)
		}
	})
}
