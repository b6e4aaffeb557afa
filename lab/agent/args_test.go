package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func writeFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTheFilesOfALoadTravelWithIt: the agent writes them into a folder of its own.
func TestTheFilesOfALoadTravelWithIt(t *testing.T) {
	mix := writeFile(t, "[[request]]\npath = \"/a\"\n")
	s, err := NewShare([]string{"http", "--mix", mix, "--ca=" + mix, "https://127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(s.Args, func(a string) bool { return strings.Contains(a, mix) }) {
		t.Errorf("got the arguments %q, want none that names a file of this machine", s.Args)
	}
	dir := t.TempDir()
	args, err := s.write(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"http", "--mix", filepath.Join(dir, "mix0"), "--ca=" + filepath.Join(dir, "ca1"), "https://127.0.0.1:1/"}
	if !slices.Equal(args, want) {
		t.Errorf("got the arguments %q, want %q", args, want)
	}
	for _, name := range []string{"mix0", "ca1"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), `path = "/a"`) {
			t.Errorf("%s: got %q and error %v, want the content of the file", name, text, err)
		}
	}
	for _, args := range [][]string{{"http", "--mix"}, {"http", "--mix", "/does/not/exist", "u"}} {
		if _, err := NewShare(args); err == nil {
			t.Errorf("%q: got no error, want one", args)
		}
	}
}

func TestFilesOfTheAgentsMachineAreRefused(t *testing.T) {
	mix := func(text string) Share {
		return Share{Args: []string{"http", "--mix", "{files}/mix0", "u"}, Files: []File{{"mix0", []byte(text)}}}
	}
	for want, s := range map[string]Share{
		"refuses --ca":        {Args: []string{"http", "--ca", "{files}/other", "u"}, Files: []File{{"ca0", nil}}},
		"refuses --expect":    {Args: []string{"http", "--expect={files}/../etc/passwd", "u"}, Files: []File{{"ca0", nil}}},
		"described requests ": mix("[[request]]\nbody_file = \"/etc/passwd\"\n"),
		"requests that name":  mix("[[request]]\n[request.check]\nbody_file = \"/etc/passwd\"\n"),
		"are invalid":         mix("[[request]]\n\"body\\u005fpath\" = 1\n"),
		"a file of its":       mix("[[request]]\n\"body\\u005ffile\" = \"/etc/passwd\"\n"),
		"is invalid or given": {Args: []string{"http", "u"}, Files: []File{{"../x", nil}}},
		"or given twice":      {Args: []string{"http", "u"}, Files: []File{{"a", nil}, {"a", nil}}},
		"the limits for":      {Args: []string{"http", "u"}, Files: []File{{"a", make([]byte, maxFileBytes+1)}}},
	} {
		if err := s.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want %q", s.Args, err, want)
		}
	}
}
