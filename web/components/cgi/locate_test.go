package cgi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// programs makes a directory with programs and scripts, another beside it with the same, and links
// from the first to the second. It returns every file that may be found.
func programs(t testing.TB) (dir string, may map[string]bool) {
	top := t.TempDir()
	for _, name := range []string{"in/prog", "in/dir/prog", "in/dir/sub/prog", "in/page.php", "in/dir/page.php", "in/.hidden/prog", "in/.prog", "out/prog", "out/page.php"} {
		file := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "in/text"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"up": "..", "away": "../out", "abs": filepath.Join(top, "out"), "prog.php": "../out/prog", "stays": "dir/prog", "round": "round"} {
		if err := os.Symlink(to, filepath.Join(top, "in", link)); err != nil {
			t.Fatal(err)
		}
	}
	real, err := filepath.EvalSymlinks(filepath.Join(top, "in"))
	if err != nil {
		t.Fatal(err)
	}
	may = map[string]bool{}
	for _, name := range []string{"prog", "dir/prog", "dir/sub/prog", "page.php", "dir/page.php"} {
		may[filepath.Join(real, filepath.FromSlash(name))] = true
	}
	return filepath.Join(top, "in"), may
}

// FuzzLocate checks that only files in the directory are found, and that name and rest make up the
// path.
func FuzzLocate(f *testing.F) {
	for _, seed := range []string{
		"/prog", "/prog/info", "/dir/prog//a/../b", "/dir/../prog", "/../out/prog", "/up/out/prog", "/away/prog", "/abs/prog", "/stays/x", "/.hidden/prog", "/.prog",
		"/page.php", "/page.php/info", "/dir/page.php/a.php/b", "/away/page.php", "/prog.php", `/..\out\prog`, "/prog\x00", "//prog", "/round", "/text", "prog", "/./prog", "/dir/./prog",
	} {
		f.Add(seed)
	}
	dir, may := programs(f)
	in, err := openFolder(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { in.root.Close() })
	f.Fuzz(func(t *testing.T, path string) {
		found := func(kind, name, info string) {
			real, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(name)))
			if err != nil || !may[real] || !filepath.IsLocal(name) {
				t.Fatalf("%s: %q: got %q, %q, %v, want a file of the directory", kind, path, name, real, err)
			}
			if name+info != strings.TrimPrefix(path, "/") || info != "" && info[0] != '/' {
				t.Fatalf("%s: %q: got %q and %q, want the path in two parts", kind, path, name, info)
			}
		}
		if name, info, ok := in.program(path); ok {
			found("program", name, info)
		}
		if name, info, ok := in.script(path, ".php"); ok {
			found("script", name, info)
			if !strings.HasSuffix(name, ".php") {
				t.Fatalf("got %q, want a name that ends in .php", name)
			}
		}
		if rest, ok := within("/cgi-bin", path); ok && ("/cgi-bin"+rest != path || rest != "" && rest[0] != '/') {
			t.Fatalf("%q: got the rest %q, want the path without the prefix", path, rest)
		}
	})
}

func TestPathsThatNameAProgram(t *testing.T) {
	dir, _ := programs(t)
	in, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.root.Close()
	for path, want := range map[string]string{
		"/prog": "prog ", "/prog/a/b": "prog /a/b", "/dir/prog//a": "dir/prog //a", "/stays": "stays ", "/text": "", "/dir": "", "/dir/": "",
		"/away/prog": "", "/abs/prog": "", "/up/in/prog": "", "/../in/prog": "", "/.prog": "", "/.hidden/prog": "", "//prog": "", "/round": "",
		"/dir/./prog": "", "/dir/../prog": "", "/stays/../x": "stays /../x", "/dir/sub/../prog": "",
	} {
		name, info, ok := in.program(path)
		if got := name + " " + info; ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, ok, want)
		}
	}
}
