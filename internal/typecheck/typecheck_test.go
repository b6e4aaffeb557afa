package typecheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTypesAreCheckedForAnotherSystem checks packages that are right on one system only, because of
// a file, a test or an import.
func TestTypesAreCheckedForAnotherSystem(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                   "module m\n\ngo 1.26\n",
		"file/file.go":             "package file\n\nvar A = b\n",
		"file/file_linux.go":       "package file\n\nvar b = 1\n",
		"file/file_darwin.go":      "package file\n\nvar b string = 1\n",
		"test/test.go":             "package test\n",
		"test/test_linux.go":       "package test\n\nconst C = 1\n",
		"test/test_test.go":        "package test\n\nvar _ = C\n",
		"good/good.go":             "package good\n\nimport _ \"io\"\n",
		"missing/missing.go":       "package missing\n\nimport _ \"m/linuxonly\"\n",
		"linuxonly/linux_linux.go": "package linuxonly\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		pkg, target string
		tests, good bool
	}{
		{"good", "linux/amd64", true, true}, {"good", "darwin/arm64", true, true},
		{"file", "linux/amd64", true, true}, {"file", "darwin/arm64", true, false},
		{"test", "linux/amd64", true, true}, {"test", "darwin/arm64", true, false},
		{"test", "darwin/arm64", false, true},
		{"missing", "linux/amd64", true, true}, {"missing", "darwin/arm64", false, false},
		{"nowhere", "linux/amd64", true, false},
	} {
		err := Check(dir, test.target, test.tests, "./"+test.pkg)
		if (err == nil) != test.good || err != nil && !strings.HasPrefix(err.Error(), test.target+": ") {
			t.Errorf("%s on %s, with tests %t: got error %v, want none: %t, and it to name the target", test.pkg, test.target, test.tests, err, test.good)
		}
	}
}

// TestThisTreeCompiles checks what the variable WEIR_TYPECHECK says: a target, "all" or "library"
// (without the tests), and patterns of packages.
func TestThisTreeCompiles(t *testing.T) {
	words := strings.Fields(os.Getenv("WEIR_TYPECHECK"))
	if len(words) < 3 {
		t.Skip("WEIR_TYPECHECK names no target and packages (scripts/test cross does)")
	}
	if err := Check("../..", words[0], words[1] == "all", words[2:]...); err != nil {
		t.Error(err)
	}
}
