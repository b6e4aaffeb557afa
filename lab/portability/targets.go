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

// target is a compiler and a machine. It does not change.
type target struct {
	name       string
	goarch     string   // GOARCH of the machine that it needs; empty: any
	compiler   []string // replaces the first word of a build command
	extraFlags []string // flags appended to it
	runner     []string // inserted before a run command
	linkRemedy string   // remedy if the compiler cannot link
	impossible string   // why it cannot be tried on this system; empty if it can
}

// hostHeaders lets a compiler for the same C library find the kernel's headers, which are the same
// for every word size, after its own. musl does not use them: the folder also has glibc's headers,
// which would hide that a source needs glibc.
var hostHeaders = []string{"-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"}

// targets returns all known targets, including those that cannot be tried on this machine.
func targets() []target {
	arm := target{name: "gcc arm64 (qemu-user)", compiler: []string{"aarch64-linux-gnu-gcc", "-static"}, runner: []string{"qemu-aarch64"},
		linkRemedy: "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"}
	if _, err := exec.LookPath("qemu-aarch64-static"); err == nil {
		if _, err := exec.LookPath("qemu-aarch64"); err != nil {
			arm.runner = []string{"qemu-aarch64-static"}
		}
	}
	if runtime.GOARCH == "arm64" {
		arm = target{name: "gcc arm64", compiler: []string{"gcc"}, linkRemedy: "apt-get install gcc libc6-dev"}
	}
	return []target{
		{name: "gcc x86-64", goarch: "amd64", compiler: []string{"gcc"}, linkRemedy: "apt-get install gcc libc6-dev"},
		{name: "clang x86-64", goarch: "amd64", compiler: []string{"clang"}, linkRemedy: "apt-get install clang libc6-dev"},
		{name: "musl x86-64", goarch: "amd64", compiler: []string{"musl-gcc"}, linkRemedy: "apt-get install musl-tools"},
		{name: "gcc 32-bit", goarch: "amd64", compiler: []string{"gcc", "-m32"}, extraFlags: hostHeaders, linkRemedy: multilibHint()},
		arm,
		{name: "FreeBSD", impossible: "needs a FreeBSD machine"},
		{name: "macOS", impossible: "needs a Mac"},
	}
}

// multilibHint names the package of 32-bit libraries that can be installed together with a cross
// compiler.
func multilibHint() string {
	version, err := exec.Command("gcc", "-dumpversion").Output()
	major, _, _ := strings.Cut(strings.TrimSpace(string(version)), ".")
	if err != nil || major == "" {
		return "apt-get install gcc-multilib"
	}
	return fmt.Sprintf("apt-get install gcc-%s-multilib", major)
}

// tools returns the commands that the target needs.
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

// folder returns a folder name for the target's files.
func (t target) folder() string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(t.name)), "-")
}

// unusable returns why the target cannot be tried, as the note of a finding; empty if it can.
func (t target) unusable(ctx context.Context) string {
	if t.impossible != "" {
		return "not tested: " + t.impossible
	}
	if t.goarch != "" && t.goarch != runtime.GOARCH {
		return fmt.Sprintf("not tested: needs an %s machine, this is %s", t.goarch, runtime.GOARCH)
	}
	for _, tool := range t.tools() {
		if _, err := exec.LookPath(tool); err != nil {
			return "not tested: " + subject.NotInstalled(tool)
		}
	}
	if err := t.probe(ctx); err != nil {
		return fmt.Sprintf("not tested: %s cannot build a program (%s)", strings.Join(t.compiler, " "), t.linkRemedy)
	}
	return ""
}

// probeSource is a program that needs the same parts of a C library as the subjects.
const probeSource = "#include <stdio.h>\n#include <pthread.h>\n#include <sys/socket.h>\n" +
	"int main(void) { return puts(\"weir\") < 0; }\n"

// probeTimeout bounds the compilation and the run of the probe.
const probeTimeout = time.Minute

// probe builds and runs a small program, because a compiler without its libraries cannot be used.
func (t target) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
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
	words := append(append(append([]string{}, t.compiler...), "-o", program, source), t.extraFlags...)
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
