package subject

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestSubjectsOfACommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "odd=name")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]Given{
		"mine=./server --port {port}":      {Name: "mine", Command: "./server --port {port}"},
		"mine:8080=./server":               {Name: "mine", Port: 8080, Command: "./server"},
		"a=b=c":                            {Name: "a", Command: "b=c"},
		"there=http://192.0.2.1:80":        {Name: "there", URL: "http://192.0.2.1:80"},
		"there=https://192.0.2.1:443/path": {Name: "there", URL: "https://192.0.2.1:443/path"},
		"there=HTTP://192.0.2.1:80":        {Name: "there", URL: "http://192.0.2.1:80"},
		"there=Https://192.0.2.1:443":      {Name: "there", URL: "https://192.0.2.1:443"},
		"mine=http":                        {Name: "mine", Command: "http"},
		"mine:0=./server {port}":           {Name: "mine", Port: noPort, Command: "./server {port}"},
		"servers/mine/subject.toml":        {File: "servers/mine/subject.toml"},
		"Upper=./server":                   {File: "Upper=./server"},
		"mine=":                            {File: "mine="},
		file:                               {File: file},
	} {
		if got := ParseGiven(text); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

func TestACommandIsASubject(t *testing.T) {
	s, err := ParseGiven(`mine=./server "a b" {port}`).Subject("/work", "requests")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s.RunCmd, []string{"./server", "a b", "{port}"}) || s.Dir != "/work" || !s.Serves("requests") || s.Binary != "./server" {
		t.Errorf("got %+v, want the three words, the folder and the workload", s)
	}
	if got := s.Environ(Params{Host: "127.0.0.1", Port: 7000}); !reflect.DeepEqual(got, []string{"PORT=7000"}) {
		t.Errorf("got the environment %q, want the port as PORT", got)
	}
	for text, want := range map[string]string{
		`mine=./server "open`:  "an open quote",
		"mine=./server {prot}": "unknown placeholder {prot}",
		"mine:70000=./server":  "70000 is no port",
		"mine:0=./server":      "0 is no port",
		"a-=./server":          "inner hyphens",
	} {
		if _, err := ParseGiven(text).Subject("/work", "requests"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", text, err, want)
		}
	}
}

// TestMissingProgramOfACommand: a run must not find out in the middle that there is no program.
func TestMissingProgramOfACommand(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plain"), "text")
	script := write(t, filepath.Join(dir, "server"), "#!/bin/sh\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"mine=no-such-program {port}": "no-such-program is not on PATH: install it",
		"mine=./none {port}":          "./none does not exist",
		"mine=./plain {port}":         "./plain is not executable",
		"mine=./server {port}":        "",
		"mine=" + script + " {port}":  "",
		"mine=sh {port}":              "",
		"mine={out}/server {port}":    "",
	} {
		s, err := ParseGiven(text).Subject(dir, "requests")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Missing(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
