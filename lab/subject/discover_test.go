package subject

import (
	"path/filepath"
	"strings"
	"testing"
)

func project(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module x\n")
	for _, n := range names {
		write(t, filepath.Join(root, "subjects", n, fileName), strings.Replace(least, `"x"`, `"`+n+`"`, 1))
	}
	return root
}

func namesOf(all []*Subject) string {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

func TestDiscoverSortsAndKeepsValidSubjects(t *testing.T) {
	root := project(t, "b", "a", "c")
	all, err := Discover(root)
	if err != nil || namesOf(all) != "a b c" {
		t.Errorf("got the subjects %s, error %v; want a b c", namesOf(all), err)
	}
	write(t, filepath.Join(root, "subjects", "b", fileName), "nothing")
	write(t, filepath.Join(root, "subjects", "c", fileName), least)
	all, err = Discover(root)
	wantError(t, err, "subjects/b/subject.toml:1", "subjects/c/subject.toml", `write name = "c"`)
	if namesOf(all) != "a" {
		t.Errorf("got the valid subjects %s, want a", namesOf(all))
	}
}

func TestSelectTakesNamesAndFiles(t *testing.T) {
	root := project(t, "a", "b")
	mine := write(t, filepath.Join(t.TempDir(), "mine.toml"), strings.Replace(least, `"x"`, `"mine"`, 1))
	clash := write(t, filepath.Join(t.TempDir(), "clash.toml"), strings.Replace(least, `"x"`, `"a"`, 1))
	tests := []struct {
		name         string
		names, files []string
		want, err    string
	}{
		{"all", nil, nil, "a b", ""},
		{"named", []string{"b"}, nil, "b", ""},
		{"in the order of the names", []string{"b", "a"}, nil, "b a", ""},
		{"named twice", []string{"a", "a"}, nil, "a", ""},
		{"a file alone", nil, []string{mine}, "mine", ""},
		{"a file beside names", []string{"a"}, []string{mine, mine}, "a mine", ""},
		{"a file of the project's own", []string{"a"}, []string{filepath.Join(root, "subjects", "a", fileName), filepath.Join(root, "subjects", "b")}, "a b", ""},
		{"unknown", []string{"z"}, nil, "", `there is no subject "z": choose among a, b`},
		{"clash", []string{"a"}, []string{clash}, "", `two subjects are called "a"`},
		{"no file", nil, []string{"/nowhere.toml"}, "", "/nowhere.toml does not exist"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, err := Select(root, tt.names, tt.files)
			if tt.err != "" {
				wantError(t, err, tt.err)
				return
			}
			if err != nil || namesOf(all) != tt.want {
				t.Errorf("%s, %v; want %s", namesOf(all), err, tt.want)
			}
		})
	}
}

func TestSelectReportsTheErrorOfABrokenSubject(t *testing.T) {
	root := project(t, "a")
	write(t, filepath.Join(root, "subjects", "b", fileName), "nothing")
	if _, err := Select(root, []string{"a"}, nil); err != nil {
		t.Errorf("a broken subject that was not selected: got error %v, want none", err)
	}
	write(t, filepath.Join(root, "subjects", "c", fileName), least)
	_, err := Select(root, []string{"b"}, nil)
	wantError(t, err, `no usable subject "b"`, "subjects/b/subject.toml:1", "not TOML")
	if strings.Contains(err.Error(), "subjects/c") {
		t.Errorf("got an error that names another subject too, want only the selected one: %v", err)
	}
	_, err = Select(root, []string{"c"}, nil)
	wantError(t, err, `no usable subject "c"`, `write name = "c"`)
}
