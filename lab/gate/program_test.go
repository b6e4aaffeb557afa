package gate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVersionsInOneProjectHaveProgramsOfTheirOwn: a subject's usual output folder is that of its
// project and name, which both have in common.
func TestVersionsInOneProjectHaveProgramsOfTheirOwn(t *testing.T) {
	r := newRepository(t)
	c := r.gate("./old", "./new")
	c.Program = Program{}
	trees, err := newTrees()
	if err != nil {
		t.Fatal(err)
	}
	defer trees.close(t.Context())
	var built []*Build
	for _, name := range []string{"old", "new"} {
		text := strings.Replace(description, `["go", "build", "-o", "{out}/tiny", "."]`, `["cp", "version", "{out}/tiny"]`, 1)
		if err := os.Mkdir(filepath.Join(r.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		r.write(name+"/subject.toml", text)
		r.write(name+"/version", name)
		b, err := c.build(t.Context(), trees, Version("./"+name), map[string]string{"old": baseName, "new": headName}[name])
		if err != nil {
			t.Fatal(err)
		}
		built = append(built, b)
	}
	for i, want := range []string{"old", "new"} {
		program := filepath.Join(built[i].subject.Out, "tiny")
		if got, err := os.ReadFile(program); err != nil || string(got) != want {
			t.Errorf("%s: got the program %q (%v), want %q", built[i].Version, got, err, want)
		}
	}
	if built[0].subject.Program() == built[1].subject.Program() {
		t.Error("got the same program for both versions, want two")
	}
}

// TestAWorktreeIsNoPartOfTheProjectAboveIt: a go.mod in the folder for temporary files would make
// that the root of all versions.
func TestAWorktreeIsNoPartOfTheProjectAboveIt(t *testing.T) {
	r := newRepository(t)
	r.git("rm", "--quiet", "go.mod")
	r.git("commit", "--quiet", "-m", "no module")
	if err := os.WriteFile(filepath.Join(r.temp, "go.mod"), []byte("module above\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := r.gate("fast", "HEAD")
	c.Program = Program{Subject: "server.toml"}
	trees, err := newTrees()
	if err != nil {
		t.Fatal(err)
	}
	defer trees.close(t.Context())
	source, err := trees.get(t.Context(), "HEAD", headName)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Program.subject("HEAD", source, "", "echo")
	if err != nil {
		t.Fatal(err)
	}
	if separate(s, source, "/out"); s.Root != source.dir || s.Out != "/out" {
		t.Errorf("got the root %s and the output folder %s, want %s and /out", s.Root, s.Out, source.dir)
	}
}

// TestASubjectThatNeverEndsIsNotRead: a repository may contain a link to a device.
func TestASubjectThatNeverEndsIsNotRead(t *testing.T) {
	r := newRepository(t)
	if err := errors.Join(os.Remove(filepath.Join(r.dir, "server.toml")), os.Symlink("/dev/zero", filepath.Join(r.dir, "server.toml"))); err != nil {
		t.Fatal(err)
	}
	r.git("add", ".")
	r.git("commit", "--quiet", "-m", "device")
	c := r.gate("fast", "HEAD")
	c.Program = Program{Subject: "server.toml"}
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("got %v, want an error that it is no regular file", err)
	}
	r.wantClean()
}
