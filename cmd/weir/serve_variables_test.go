package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestVariablesAndIncludesOfASiteFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "parts"), 0o700); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(dir, "parts", "page.hcl")
	write(t, part, `text { text = "${var.greeting}, ${var.name}" }`)
	file := filepath.Join(dir, "site.hcl")
	write(t, file, "variable \"greeting\" { default = \"hello\" }\nvariable \"name\" { env = \"TEST_NAME\" }\nserver { listen = \"127.0.0.1:0\" }\ninclude \"parts/page.hcl\" {}")
	s := &served{Cmd: exec.Command(binary(t), "serve", file, "--set", "greeting=good morning; you=me")}
	s.Env = append(os.Environ(), "TEST_NAME=Ann")
	s.url = s.start(t, "serving on")
	if _, body := s.get(t, ""); body != "good morning; you=me, Ann" {
		t.Errorf("got %q, want the values of --set and of the environment", body)
	}
	write(t, part, `text { text = "changed, ${var.name}" }`)
	s.says(t, "reloaded site.hcl")
	if _, body := s.get(t, ""); body != "changed, Ann" {
		t.Errorf("after a change of the included file: got %q, want it reloaded", body)
	}
	write(t, part, "\ntxt {}")
	s.says(t, "on parts/page.hcl line 2")
	s.says(t, "the running configuration stays in effect")
	s.stop(t)
}

func TestSetIsCheckedAndItsValueNotShown(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "site.hcl")
	write(t, file, "variable \"run\" {}\nserver {\n listen = \"127.0.0.1:0\"\n run = var.run\n}\ntext { text = \"x\" }")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"check", file, "--set", "run=network"}, 0, "is valid"},
		{[]string{"draw", file, "--set", "run=network"}, 0, "<svg "},
		{[]string{"check", file}, 1, "give it a value by --set run=VALUE"},
		{[]string{"check", file, "--set", "run=hunter2hunter2"}, 1, "run is \"(value of var.run)\""},
		{[]string{file, "--set", "run=hunter2hunter2"}, 1, "run is \"(value of var.run)\""},
		{[]string{"check", file, "--set", "hunter2hunter2"}, 2, "--set has no name or no value"},
		{[]string{"check", file, "--set", "=hunter2hunter2"}, 2, "--set has no name or no value"},
		{[]string{"check", file, "--set", "run=chain", "--set", "run=hunter2hunter2"}, 2, "--set gives run a value twice"},
		{[]string{"check", file, "--set", "run=chain", "--set", "rin=hunter2hunter2"}, 1, `did you mean "run"?`},
		{[]string{dir, "--set", "run=chain"}, 2, "--set is for site files"},
	} {
		cmd := exec.Command(binary(t), append([]string{"serve"}, c.args...)...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "hunter2") {
			t.Errorf("weir serve %q: got exit status %d and %s; want %d, %q and no value", c.args, code, out, c.code, c.want)
		}
	}
}
