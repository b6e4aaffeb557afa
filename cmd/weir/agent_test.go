package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"weir/lab/agent"
)

// TestAgentsKnowEveryLoadAndItsFlagsThatNameFiles: a new one must be added to agent.LoadKinds or to
// agent.FileFlags.
func TestAgentsKnowEveryLoadAndItsFlagsThatNameFiles(t *testing.T) {
	var found []string
	eachNode(t, func(_ *kong.Kong, n *kong.Node) {
		if n.Parent == nil || n.Parent.Path() != "load" {
			return
		}
		if !slices.Contains(agent.LoadKinds, n.Name) {
			t.Errorf("agents know the loads %q, want weir load %s among them", agent.LoadKinds, n.Name)
		}
		for _, f := range n.Flags {
			// agents refuse each argument that starts with @
			names := strings.Contains(f.PlaceHolder, "FILE") && !strings.Contains(f.PlaceHolder, "@FILE")
			if names && !slices.Contains(found, f.Name) {
				found = append(found, f.Name)
			}
		}
	})
	want := slices.Sorted(slices.Values(agent.FileFlags))
	if slices.Sort(found); !slices.Equal(found, want) {
		t.Errorf("got the flags %q of weir load that name files, want those that agents refuse, %q", found, want)
	}
}

func TestATokenThatOthersCanReadIsWarnedOf(t *testing.T) {
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o644: true, 0o640: true, 0o602: true} {
		a := agentCmd{TokenFile: filepath.Join(t.TempDir(), "token")}
		writeFile(t, a.TokenFile, "secret")
		if err := os.Chmod(a.TokenFile, mode); err != nil {
			t.Fatal(err)
		}
		if got := a.exposedToken(); (got != "") != warned || strings.Contains(got, "secret") {
			t.Errorf("mode %o: got the warning %q, want one: %v", mode, got, warned)
		}
	}
	if got := (&agentCmd{}).exposedToken(); got != "" {
		t.Errorf("no file: got the warning %q, want none", got)
	}
}

func TestTheTokenOfAnAgentComesFromAFileOrTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ content, variable, want string }{
		{"secret\n", "", "secret"},
		{"secret", "other", "secret"},
		{"", "secret", "secret"},
		{"", "", ""},
		{"\n", "", ""},
		{"two\nlines\n", "", ""},
		{strings.Repeat("a", maxTokenFile+1), "", ""},
	} {
		a := agentCmd{}
		if c.content != "" {
			a.TokenFile = filepath.Join(dir, "token")
			writeFile(t, a.TokenFile, c.content)
		}
		t.Setenv(agentTokenVariable, c.variable)
		token, err := a.token()
		if token != c.want || (err == nil) != (c.want != "") {
			t.Errorf("file %.20q, variable %q: got %q, %v; want %q", c.content, c.variable, token, err, c.want)
		}
		if _, set := os.LookupEnv(agentTokenVariable); set {
			t.Error("got the variable after reading the token, want none, which loads would inherit")
		}
		if err != nil && c.content != "" && strings.TrimSpace(c.content) != "" && strings.Contains(err.Error(), strings.TrimSpace(c.content)) {
			t.Errorf("the error %v holds the content of the file", err)
		}
	}
}
