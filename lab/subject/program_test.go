package subject

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAProgramIsKnownByWhatRuns(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, fileName)
	write(t, filepath.Join(dir, "x.c"), "one")
	program := func(lines string) string {
		t.Helper()
		s, err := Read(write(t, file, least+lines))
		if err != nil {
			t.Fatal(err)
		}
		return s.Program()
	}
	const sources, binary = "sources = [\"x.c\"]\n", "binary = \"x\"\nsources = [\"x.c\"]\n"
	write(t, filepath.Join(dir, "x"), "built")
	bySources, byBinary := program(sources), program(binary)
	if program(sources) != bySources || program(binary) != byBinary {
		t.Error("the same program has two digests")
	}
	if program(sources+"about = \"other words\"\n") != bySources {
		t.Error("what is said of a program changes it")
	}
	if program(sources+"build = [\"cc\"]\n") == bySources || program(sources+"env = { A = \"b\" }\n") == bySources {
		t.Error("another build command or environment is the same program")
	}
	write(t, filepath.Join(dir, "x.c"), "two")
	if program(sources) == bySources {
		t.Error("other sources are the same program")
	}
	if program(binary) != byBinary {
		t.Error("where there is a binary, a comment in the sources makes another program")
	}
	write(t, filepath.Join(dir, "x"), "built again")
	if program(binary) == byBinary {
		t.Error("another binary is the same program")
	}
}

func TestAProgramCanBeAFolder(t *testing.T) {
	s := scratch(t, "echo", `binary = "{out}"`)
	if err := os.MkdirAll(s.Out, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.Out, "a", "A.class"), "a")
	before := s.Program()
	write(t, filepath.Join(s.Out, "a", "A.class"), "b")
	if s.Program() == before {
		t.Error("with a changed file in it, it is the same program")
	}
}

func TestAProgramThatIsNotBuiltIsAnother(t *testing.T) {
	s := scratch(t, "echo", `binary = "{out}/x"`)
	before := s.Program()
	write(t, filepath.Join(s.Out, "x"), "")
	if s.Program() == before {
		t.Error("an empty binary is the same program as none")
	}
}
