package subject

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/printable"
)

// checkTimeout bounds a subject's check: `java --version` takes seconds on a busy machine.
const checkTimeout = 20 * time.Second

// packages maps a command to its Debian packages.
var packages = map[string]string{
	"aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
	"cargo":                 "cargo",
	"cc":                    "gcc libc6-dev",
	"clang":                 "clang",
	"erl":                   "erlang-base",
	"gcc":                   "gcc libc6-dev",
	"go":                    "golang",
	"java":                  "default-jre-headless",
	"javac":                 "default-jdk-headless",
	"make":                  "make",
	"musl-gcc":              "musl-tools",
	"node":                  "nodejs",
	"php":                   "php-cli",
	"python3":               "python3",
	"qemu-aarch64":          "qemu-user",
	"qemu-aarch64-static":   "qemu-user-static",
	"ruby":                  "ruby",
	"rustc":                 "rustc",
}

// NotInstalled returns a phrase that a command is missing and how to install it.
func NotInstalled(command string) string {
	if p, ok := packages[command]; ok {
		return fmt.Sprintf("%s is not installed (apt-get install %s)", command, p)
	}
	return fmt.Sprintf("%s is not on PATH: install it", command)
}

// Missing returns in one line what this machine lacks to build or run the subject; empty if
// nothing. That is a command that is not on PATH, the program of a server that is not built, or the
// first line that its check printed on standard error. It runs the check.
func (s *Subject) Missing() string {
	for _, n := range s.Needs {
		if _, err := exec.LookPath(n); err != nil {
			return NotInstalled(n)
		}
	}
	if missing := s.missingProgram(); missing != "" || len(s.CheckCmd) == 0 {
		return missing
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	var said head
	cmd := s.tool(ctx, s.CheckCmd)
	cmd.Stderr = &said
	err := s.runTool(cmd)
	if err == nil {
		return ""
	}
	if line := firstLine(string(said.kept)); line != "" {
		return line
	}
	return fmt.Sprintf("its check failed: %s: %v", shellWords(s.fillFolders(s.CheckCmd)), err)
}

// missingProgram returns why the program of a run command without a build cannot be started; empty
// if it can. A path is relative to the subject's folder. One with a placeholder is not judged: the
// build of another subject may make it.
func (s *Subject) missingProgram() string {
	program := s.RunCmd[0]
	if len(s.BuildCmd) > 0 || placeholder.MatchString(program) {
		return ""
	}
	path := program
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		path = filepath.Join(s.Dir, program)
	}
	_, err := exec.LookPath(path)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, exec.ErrNotFound):
		return NotInstalled(program)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s does not exist: correct run in %s", program, s.File)
	}
	return fmt.Sprintf("%s is not executable: chmod +x it, or name its interpreter first in run", program)
}

// firstLine returns the first non-blank line of text, at most 200 bytes of it.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return printable.Lines(clip(line))
		}
	}
	return ""
}

// clip shortens a line to 200 bytes.
func clip(line string) string {
	if len(line) > 200 {
		return strings.ToValidUTF8(line[:197], "") + "..."
	}
	return line
}
