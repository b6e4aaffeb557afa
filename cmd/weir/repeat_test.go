package main

import "testing"

// The command in a report starts with the program as it was typed, so that it works where weir is
// not on the PATH. It has the seed, but not the directory of the run.
func TestRepeatCommandCanBeTyped(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"build/weir", "lab", "run", "im", "--quick", "--out", "runs/a"}, "build/weir lab run im --quick --seed 7"},
		{[]string{"weir", "lab", "run", "--seed=3", "--out=x", "--subjects", "c-fork,c-epoll"}, "weir lab run --subjects c-fork,c-epoll --seed 7"},
		{[]string{"my tools/weir", "lab", "run", "my file.toml"}, "'my tools/weir' lab run 'my file.toml' --seed 7"},
	} {
		if got := repeatCommand(c.args, 7); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
