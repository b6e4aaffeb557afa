package portability

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"weir/lab/subject"
)

// target is a compiler and a machine. Nothing changes one.
type target struct {
	name     string
	arch     string   // the machine that it needs, as Go calls it; empty: any
	compiler []string // what replaces the first word of a build command
	after    []string // flags at its end
	runner   []string // what stands before a run command
	hint     string   // how to get what a compiler that cannot link lacks
	never    string   // why it is not even tried
}

// hostHeaders lets a compiler for the same C library find the headers of the kernel, which do not
// differ with the word size, after its own. musl gets none: beside the kernel's they are glibc's,
// and would hide that a source needs it.
var hostHeaders = []string{"-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"}

// targets are all that are known, those that nobody here can try included.
func targets() []target {
	arm := target{name: "gcc arm64 (qemu-user)", compiler: []string{"aarch64-linux-gnu-gcc", "-static"}, runner: []string{"qemu-aarch64"},
		hint: "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"}
	if _, err := exec.LookPath("qemu-aarch64-static"); err == nil {
		if _, err := exec.LookPath("qemu-aarch64"); err != nil {
			arm.runner = []string{"qemu-aarch64-static"}
		}
	}
	if runtime.GOARCH == "arm64" {
		arm = target{name: "gcc arm64", compiler: []string{"gcc"}, hint: "apt-get install gcc libc6-dev"}
	}
	return []target{
		{name: "gcc x86-64", arch: "amd64", compiler: []string{"gcc"}, hint: "apt-get install gcc libc6-dev"},
		{name: "clang x86-64", arch: "amd64", compiler: []string{"clang"}, hint: "apt-get install clang libc6-dev"},
		{name: "musl x86-64", arch: "amd64", compiler: []string{"musl-gcc"}, hint: "apt-get install musl-tools"},
		{name: "gcc 32-bit", arch: "amd64", compiler: []string{"gcc", "-m32"}, after: hostHeaders, hint: multilibHint()},
		arm,
		{name: "FreeBSD", never: "needs a FreeBSD machine"},
		{name: "macOS", never: "needs a Mac"},
	}
}

// multilibHint names the package of 32-bit libraries that can be installed beside a cross compiler.
func multilibHint() string {
	version, err := exec.Command("gcc", "-dumpversion").Output()
	major, _, _ := strings.Cut(strings.TrimSpace(string(version)), ".")
	if err != nil || major == "" {
		return "apt-get install gcc-multilib"
	}
	return fmt.Sprintf("apt-get install gcc-%s-multilib", major)
}

// tools are the commands that the target needs.
func (t target) tools() []string {
	var all []string
	if len(t.compiler) > 0 {
		all = append(all, t.compiler[0])
	}
	if len(t.runner) > 0 {
		all = append(all, t.runner[0])
	}
	return all
}

// folder is a name for the target's files.
func (t target) folder() string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(t.name)), "-")
}

// unusable says why the target cannot be tried here, as a note of a finding; empty if it can.
func (t target) unusable(ctx context.Context) string {
	if t.never != "" {
		return "not tested: " + t.never
	}
	if t.arch != "" && t.arch != runtime.GOARCH {
		return fmt.Sprintf("not tested: needs an %s machine, this is %s", t.arch, runtime.GOARCH)
	}
	for _, tool := range t.tools() {
		if _, err := exec.LookPath(tool); err != nil {
			return "not tested: " + subject.NotInstalled(tool)
		}
	}
	if err := t.probe(ctx); err != nil {
		return fmt.Sprintf("not tested: %s cannot make a program (%s)", strings.Join(t.compiler, " "), t.hint)
	}
	return ""
}

// probeSource is a program that needs what the subjects need of a C library.
const probeSource = "#include <stdio.h>\n#include <pthread.h>\n#include <sys/socket.h>\n" +
	"int main(void) { return puts(\"weir\") < 0; }\n"

// probeWithin bounds the compilation and the run of the probe.
const probeWithin = time.Minute

// probe builds and runs a small program: a compiler without its libraries is as good as none.
func (t target) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	dir, err := os.MkdirTemp("", "weir-portability-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, program := filepath.Join(dir, "probe.c"), filepath.Join(dir, "probe")
	if err := os.WriteFile(source, []byte(probeSource), 0o600); err != nil {
		return err
	}
	words := append(append(append([]string{}, t.compiler...), "-o", program, source), t.after...)
	if err := exec.CommandContext(ctx, words[0], words[1:]...).Run(); err != nil {
		return err
	}
	words = append(append([]string{}, t.runner...), program)
	said, err := exec.CommandContext(ctx, words[0], words[1:]...).Output()
	if err == nil && string(said) != "weir\n" {
		err = fmt.Errorf("the program printed %q", said)
	}
	return err
}
