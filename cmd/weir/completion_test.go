package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestCompletionOffersCommandsAndFlags(t *testing.T) {
	weir := binary(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		out, err := exec.Command(weir, "completion", shell).Output()
		if err != nil || !strings.Contains(string(out), weir) {
			t.Errorf("weir completion %s: error %v, code %q; want code that runs %s", shell, err, out, weir)
		}
	}
	for _, c := range []struct {
		typed string
		want  []string
	}{
		{"weir ", []string{"chat", "completion", "help", "lab", "load", "man", "serve", "stack", "version", "vet"}},
		{"weir --v", []string{"--version"}},
		{"weir lab r", []string{"report", "run"}},
		{"weir help lab r", []string{"report", "run"}},
		{"weir lab run --qu", []string{"--quick"}},
		{"weir lab run im-", []string{"im-published"}},
		{"weir lab run --rat", []string{"--rate", "--rate-per-connection"}},
		{"weir lab run --subjects c-ep", []string{"c-epoll"}},
		{"weir lab run --subjects go-loop,c-ep", []string{"go-loop,c-epoll"}},
		{"weir lab check go-loop c-ep", []string{"c-epoll"}},
		{"weir serve --run n", []string{"network"}},
		{"weir serve run --run n", []string{"network"}},
		{"weir serve components limit_r", []string{"limit_rate"}},
		{"weir serve components serv", []string{"server"}},
		{"weir serve --model cor", []string{"coroutine"}},
		{"weir serve --engine net", []string{"nethttp"}},
		{"weir chat serve --model cor", []string{"coroutine"}},
		{"weir completion ", []string{"bash", "fish", "zsh"}},
	} {
		cmd := exec.Command(weir)
		cmd.Env = append(os.Environ(), "COMP_LINE="+c.typed)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(string(out))
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q is completed by %q, want %q", c.typed, got, c.want)
		}
	}
}

func TestCompletionOfAnUnknownShellIsAUsageError(t *testing.T) {
	out, err := exec.Command(binary(t), "completion", "dos").CombinedOutput()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), "bash") {
		t.Errorf("error %v, output %q; want exit status 2 and the shells that there are", err, out)
	}
}
