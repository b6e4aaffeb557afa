package data

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/chat/irc"
)

func TestNamedReturnsThePathOfAConversation(t *testing.T) {
	for _, c := range []struct{ name, path, is string }{
		{"#Family", "rooms/#family", "#Family"},
		{"#a/b", "rooms/#a%2Fb", "#a/b"},
		{"#Grüße", "rooms/#gr%C3%BC%C3%9Fe", "#Grüße"},
		{"Bob,ann", "direct/ann,bob", "ann,bob"},
		{"[x],ann", "direct/%5Bx%5D,ann", "[x],ann"},
	} {
		r, err := Named(c.name)
		if err != nil || r.Path != c.path || r.Name != c.is {
			t.Errorf("Named(%s): got %+v and error %v, want the path %s and the name %s", c.name, r, err, c.path, c.is)
		}
	}
	for _, name := range []string{"", "#", "family", "#a b", "../x", "ann", "ann,", "ann,b b", "#" + strings.Repeat("\u00fc", 40), "#\x00"} {
		if r, err := Named(name); !errors.Is(err, ErrName) {
			t.Errorf("Named(%q): got %+v, want ErrName", name, r)
		}
	}
}

func TestListFindsWhatNamedNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`#[^ ,*?\x00-\x1f\x7f-\x9f]{1,12}`).Filter(irc.ValidRoom).Draw(t, "name")
		dir, err := os.MkdirTemp("", "weir-data-*")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		r, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, r.Path), 0o700); err != nil {
			t.Fatal(err)
		}
		if all, err := List(dir); err != nil || len(all) != 1 || all[0].Name != irc.Fold(name) || all[0].Path != r.Path {
			t.Fatalf("List: got %+v and error %v, want the one conversation %s at %s", all, err, irc.Fold(name), r.Path)
		}
		state := irc.AppendLine(nil, "weir.chat", "CREATED", name, "1763730000")
		if err := os.WriteFile(filepath.Join(dir, r.Path, "state"), state, 0o600); err != nil {
			t.Fatal(err)
		}
		if all, err := List(dir); err != nil || all[0] != r {
			t.Fatalf("List: got %+v, %v; want %+v", all, err, r)
		}
	})
}

func TestListRejectsAFolderWithoutAChat(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nowhere")} {
		if _, err := List(dir); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("List(%s): got %v, want an error", dir, err)
		}
	}
}
