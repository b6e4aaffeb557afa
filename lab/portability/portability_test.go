package portability

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"weir/lab/contract"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload/stream"
)

// project creates a project with C subjects of the given sources, without the C baselines' server.
func project(t *testing.T, sources map[string]string) string {
	t.Helper()
	root := t.TempDir()
	put(t, filepath.Join(root, "go.mod"), "module x\n")
	for name, source := range sources {
		dir := filepath.Join(root, "subjects", name)
		put(t, filepath.Join(dir, "main.c"), source)
		put(t, filepath.Join(dir, "subject.toml"), fmt.Sprintf(`name = %q
language = "C"
paradigm = "none"
workloads = ["sink"]
build = ["cc", "-o", "{out}/server", "main.c"]
run = ["{out}/server", "{addr}"]
`, name))
	}
	return root
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestEveryTargetIsNamed: every subject has a finding for every target. One that was not tried has
// the note "not tested" with what is missing.
func TestEveryTargetIsNamed(t *testing.T) {
	root := project(t, map[string]string{"broken": "this is no C\n", "dead": "int main(void) { return 3; }\n"})
	found, err := Run(t.Context(), root, Options{Kinds: []contract.Kind{stream.Contract}})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * len(targets()); len(found) != want {
		t.Fatalf("got %d findings, want %d: %+v", len(found), want, found)
	}
	for _, p := range found {
		switch {
		case p.Passed:
			t.Errorf("got a pass of a broken subject, want a failure: %+v", p)
		case strings.HasPrefix(p.Note, "not tested: "):
			if p.Built {
				t.Errorf("got a target that was built but not tested, want it not built: %+v", p)
			}
		case p.Subject == "broken" && (p.Built || !strings.Contains(p.Note, "error:")):
			t.Errorf("got %+v, want the compiler's error", p)
		case p.Subject == "dead" && (!p.Built || !strings.Contains(p.Note, "exit status 3")):
			t.Errorf("got %+v, want its exit status", p)
		}
		if strings.Contains(p.Note, "\n") {
			t.Errorf("got more than one line: %q, want one", p.Note)
		}
	}
}

func TestFindingsAreStoredUntilSomethingChanges(t *testing.T) {
	root := project(t, map[string]string{"dead": "int main(void) { return 3; }\n"})
	tried := 0
	o := Options{Kinds: []contract.Kind{stream.Contract}, Doing: func(string) { tried++ }}
	run := func() []result.Portability {
		t.Helper()
		tried = 0
		found, err := Run(t.Context(), root, o)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if _, ok := Kept(root); ok {
		t.Error("got stored findings before the first run, want none")
	}
	first := run()
	if _, err := exec.LookPath("gcc"); err == nil && runtime.GOARCH == "amd64" && tried == 0 {
		t.Error("gcc is installed and was not tried, want it tried")
	}
	again := run()
	if tried != 0 || !reflect.DeepEqual(again, first) {
		t.Errorf("the second run: got %d new trials and %+v; want none and %+v", tried, again, first)
	}
	if kept, ok := Kept(root); !ok || !reflect.DeepEqual(kept, first) {
		t.Errorf("the stored findings: got %+v, present: %t; want %+v", kept, ok, first)
	}
	put(t, filepath.Join(root, "subjects", "dead", "main.c"), "int main(void) { return 4; }\n")
	if _, ok := Kept(root); ok {
		t.Error("a changed source: got the old findings, want none")
	}
	run()
	o.Fresh = true
	if run(); tried == 0 && strings.Contains(first[0].Note, "exit") {
		t.Error("Options.Fresh: got no new trial, want one")
	}
}

func TestVariantKeepsTheBuildAndReplacesTheCompiler(t *testing.T) {
	s := &subject.Subject{Name: "c-x", Root: "/r", BuildCmd: []string{"cc", "-O2", "x.c", "-lm"}, RunCmd: []string{"{out}/x", "{addr}"}, Needs: []string{"cc"}}
	v := variant(s, target{name: "gcc arm64 (qemu-user)", compiler: []string{"a-gcc", "-static"}, extraFlags: []string{"-I/k"}, runner: []string{"qemu"}})
	if got, want := strings.Join(v.BuildCmd, " "), "a-gcc -static -O2 x.c -lm -I/k"; got != want {
		t.Errorf("got build %s, want %s", got, want)
	}
	if got, want := strings.Join(v.RunCmd, " "), "qemu {out}/x {addr}"; got != want {
		t.Errorf("got run %s, want %s", got, want)
	}
	if want := "/r/build/portability/gcc-arm64--qemu-user/c-x"; v.Out != want {
		t.Errorf("got out %s, want %s", v.Out, want)
	}
	if s.BuildCmd[0] != "cc" || len(s.Needs) != 1 {
		t.Errorf("got a changed subject %+v, want the original with the compiler cc", s)
	}
}

// TestTreesOwnSubjectsPassWithGCC: the short contract covers what the subjects of this tree
// promise.
func TestTreesOwnSubjectsPassWithGCC(t *testing.T) {
	subjects, err := cSubjects("../..")
	if err != nil || len(subjects) == 0 {
		t.Fatalf("got %d subjects, error %v; want at least one", len(subjects), err)
	}
	gcc := targets()[0]
	if reason := gcc.unusable(t.Context()); reason != "" {
		t.Skip(reason)
	}
	for _, s := range subjects[:1] {
		if p := try(t.Context(), s, gcc, []contract.Kind{stream.Contract}); !p.Passed {
			t.Errorf("got %+v, want a pass", p)
		}
	}
}

// TestMuslFindsNoHeadersOfGlibc: a source that needs glibc does not build with musl in spite of the
// headers of this machine.
func TestMuslFindsNoHeadersOfGlibc(t *testing.T) {
	all := targets()
	musl := all[slices.IndexFunc(all, func(t target) bool { return t.name == "musl x86-64" })]
	if reason := musl.unusable(t.Context()); reason != "" {
		t.Skip(reason)
	}
	root := project(t, map[string]string{"glibc": "#include <gnu/libc-version.h>\nint main(void) { return 0; }\n"})
	subjects, err := cSubjects(root)
	if err != nil {
		t.Fatal(err)
	}
	if p := try(t.Context(), subjects[0], musl, nil); p.Built || !strings.Contains(p.Note, "libc-version.h") {
		t.Errorf("got %+v, want a failed build that names libc-version.h", p)
	}
}

func TestMissingLibraryIsNotAFailure(t *testing.T) {
	build := []string{"gcc", "-m32", "x.c", "-luring"}
	for output, want := range map[string]string{
		"/usr/bin/ld: cannot find -luring: No such file or directory":     "uring",
		"x.c:1:10: fatal error: liburing.h: No such file or directory":    "uring",
		"x.c:1:10: fatal error: sys/epoll.h: No such file or directory":   "",
		"/usr/bin/ld: undefined reference to `io_uring_queue_init_params": "",
	} {
		if got := lacking(build, output); got != want {
			t.Errorf("%s: got %q, want %q", output, got, want)
		}
	}
}

func TestPackagedServersAreNotBuilt(t *testing.T) {
	root := project(t, map[string]string{"built": ""})
	put(t, filepath.Join(root, "subjects", "packaged", "subject.toml"), `name = "packaged"
language = "C"
paradigm = "none"
workloads = ["sink"]
run = ["packaged", "{addr}"]
`)
	found, err := cSubjects(root)
	if err != nil || len(found) != 1 || found[0].Name != "built" {
		t.Errorf("got %v, %v; want only the subject with a build command", found, err)
	}
}
