package subject

import (
	"os"
	"path/filepath"
	"testing"
)

func TestProgramIsADigestOfWhatRuns(t *testing.T) {
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
		t.Error("the same program: got two digests, want one")
	}
	if program(sources+"about = \"other words\"\n") != bySources {
		t.Error("another description: got another digest, want the same")
	}
	if program(sources+"build = [\"cc\"]\n") == bySources || program(sources+"env = { A = \"b\" }\n") == bySources {
		t.Error("another build command or environment: got the same digest, want another")
	}
	write(t, filepath.Join(dir, "x.c"), "two")
	if program(sources) == bySources {
		t.Error("other sources: got the same digest, want another")
	}
	if program(binary) != byBinary {
		t.Error("other sources of a named binary: got another digest, want the same")
	}
	write(t, filepath.Join(dir, "x"), "built again")
	if program(binary) == byBinary {
		t.Error("another binary: got the same digest, want another")
	}
}

func TestProgramCanBeAFolder(t *testing.T) {
	s := scratch(t, "echo", `binary = "{out}"`)
	if err := os.MkdirAll(s.Out, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.Out, "a", "A.class"), "a")
	before := s.Program()
	write(t, filepath.Join(s.Out, "a", "A.class"), "b")
	if s.Program() == before {
		t.Error("a changed file in the folder: got the same digest, want another")
	}
}

func TestMissingProgramHasADifferentDigest(t *testing.T) {
	s := scratch(t, "echo", `binary = "{out}/x"`)
	before := s.Program()
	write(t, filepath.Join(s.Out, "x"), "")
	if s.Program() == before {
		t.Error("an empty binary: got the digest of a missing one, want another")
	}
}
