package subject

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

const least = "name = \"x\"\nlanguage = \"C\"\nparadigm = \"event loop\"\nworkloads = [\"sink\"]\nrun = [\"{out}/x\", \"{addr}\"]\n"

func TestReadSetsDefaults(t *testing.T) {
	dir := t.TempDir()
	s, err := Read(write(t, filepath.Join(dir, fileName), least))
	if err != nil {
		t.Fatal(err)
	}
	want := &Subject{Name: "x", Language: "C", Paradigm: "event loop", Workloads: []string{"sink"}, RunCmd: []string{"{out}/x", "{addr}"},
		Ready: "listen", WarmMessages: 2000, Contract: "full",
		File: filepath.Join(dir, fileName), Dir: dir, Root: dir, Out: filepath.Join(dir, "build", "subjects", "x")}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	if byFolder, err := Read(dir); err != nil || !reflect.DeepEqual(byFolder, want) {
		t.Errorf("by its folder: got %+v, error %v; want %+v", byFolder, err, want)
	}
}

func TestRootIsTheNearestFolderWithAGoMod(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module x\n")
	s, err := Read(write(t, filepath.Join(root, "a", "b", fileName), least))
	if err != nil || s.Root != root {
		t.Errorf("root %q, error %v; want %q", s.Root, err, root)
	}
}

// without returns the required keys, except one.
func without(key string) string {
	var kept []string
	for line := range strings.Lines(least) {
		if !strings.HasPrefix(line, key) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// TestReadRejects: every mistake gives one sentence with the file, the line and the key, and what
// to write instead.
func TestReadRejects(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"unknown key", least + "colour = \"red\"\n", []string{`:6: unknown key "colour"`, "remove it", "workloads"}},
		{"unknown lack", least + "lacks = [\"Server\"]\n", []string{`:6: lacks`, `"Server" is none of ETag, Last-Modified, Date, 304, Range`}},
		{"lack of another workload", least + "lacks = [\"ETag\"]\n", []string{`:6: lacks`, "it is for servers of files"}},
		{"unknown table", least + "[limits]\nn = 1\n", []string{`:6: unknown key "limits"`}},
		{"wrong type", least + "warm_messages = \"many\"\n", []string{":6: warm_messages:", "warm_messages = 2000"}},
		{"string for a command", without("run") + "run = \"./x {addr}\"\n", []string{":5: run:", `run = ["{out}/my-server", "--listen", "{addr}"]`}},
		{"no TOML", least + "name = = 1\n", []string{":6:", "this is not TOML"}},
		{"twice", least + "name = \"y\"\n", []string{":6:", "name"}},
		{"no name", without("name"), []string{":1: name: missing"}},
		{"no language", without("language"), []string{"language: missing"}},
		{"no paradigm", without("paradigm"), []string{"paradigm: missing"}},
		{"no workloads", without("workloads"), []string{"workloads: missing", `["sink", "echo"]`}},
		{"no run", without("run"), []string{"run: missing"}},
		{"bad name", without("name") + "name = \"My Server\"\n", []string{`:5: name: "My Server"`, "a-z"}},
		{"name with a path", without("name") + "name = \"../x\"\n", []string{`name: "../x"`}},
		{"unknown workload", without("workloads") + "workloads = [\"sink\", \"http\"]\n", []string{`:5: workloads: there is no workload "http", only sink, echo, page, files, proxy, requests, websocket, grpc, chat`}},
		{"workload twice", without("workloads") + "workloads = [\"sink\", \"sink\"]\n", []string{`"sink" is given twice`}},
		{"unknown readiness", least + "ready = \"soon\"\n", []string{`:6: ready: "soon" is none of listen, connect and line: TEXT`}},
		{"line without text", least + "ready = \"line: \"\n", []string{":6: ready:", "no text"}},
		{"unknown contract", least + "contract = \"social\"\n", []string{`"social" is neither full nor published`}},
		{"negative warm-up", least + "warm_messages = -1\n", []string{"warm_messages: -1 is negative"}},
		{"negative dependencies", least + "dependencies = -1\n", []string{"dependencies: -1 is negative"}},
		{"unknown placeholder in run", without("run") + "run = [\"x\", \"{addr}\", \"{adress}\"]\n", []string{":5: run: unknown placeholder {adress}", "{addr}"}},
		{"address in build", least + "build = [\"cc\", \"{port}\"]\n", []string{":6: build: unknown placeholder {port}", "{dir}, {out}, {root}"}},
		{"placeholder in sources", least + "sources = [\"{dir}/*.c\"]\n", []string{"sources: {dir}: this key takes no placeholders"}},
		{"unknown placeholder in env", least + "[env]\nPORT = \"{prot}\"\n", []string{":6: env: unknown placeholder {prot}"}},
		{"nowhere to listen", without("run") + "run = [\"x\"]\n", []string{"neither {addr} nor {port}"}},
		{"a proxy without upstream", without("workloads") + "workloads = [\"proxy\"]\n", []string{"holds no {upstream}, which a proxy forwards to"}},
		{"empty command", least + "build = [\"\"]\n", []string{"build: its first word"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := write(t, filepath.Join(t.TempDir(), fileName), tt.text)
			_, err := Read(file)
			wantError(t, err, append(tt.want, file)...)
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("got more than one line: %q, want one", err)
			}
		})
	}
}

func TestReadRejectsAMissingFile(t *testing.T) {
	_, err := Read(filepath.Join(t.TempDir(), "none.toml"))
	wantError(t, err, "none.toml does not exist", "subject.toml")
}

func TestPortMayBeInTheEnvironment(t *testing.T) {
	s, err := parse([]byte(strings.Replace(least, `, "{addr}"`, "", 1) + "env = { PORT = \"{port}\" }\n"))
	if err != nil || s.Env["PORT"] != "{port}" {
		t.Errorf("the port in the environment: got %+v, error %v; want PORT set to {port}", s, err)
	}
}

func TestCommandFillsEveryPlaceholder(t *testing.T) {
	s, err := parse([]byte(least))
	if err != nil {
		t.Fatal(err)
	}
	s.Dir, s.Root, s.Out = "/p/dir", "/p", "/p/out"
	s.RunCmd = everything
	got := strings.Join(s.Command(Params{Host: "::1", Port: 7, Workload: "page", Size: 5, WorkUS: 6, WaitMS: 8,
		Www: "/www", SleepMS: 9, SleepEvery: 10, Filters: 11, Gzip: true, Cert: "/c", Key: "/k", Upstream: "h:9", Tap: "tap0", Net: "10.77.0.2/24", MTU: 9000, Cores: 2}), " ")
	if want := "/p/dir /p/out /p [::1]:7 ::1 7 page 5 6 8 /www 9 10 11 1 /c /k h:9 tap0 10.77.0.2/24 9000 2"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.RunCmd = []string{"{workload}-{size}-{gzip}"}
	if got := s.Command(Params{})[0]; got != "sink-1000-0" {
		t.Errorf("defaults: got %s, want sink-1000-0", got)
	}
}

// FuzzParse: the parser never panics, an error contains a line, and a valid description is
// unchanged after encoding and parsing.
func FuzzParse(f *testing.F) {
	f.Add(least)
	f.Add(least + "check = [\"true\"]\nbuild = [\"cc\", \"{out}\"]\nready = \"line: up\"\nsources = [\"*.c\"]\nbinary = \"{out}/x\"\n[env]\nA = \"{port}\"\n")
	f.Add("name = \"\"\n[env]\n[env.x]\n")
	f.Add("run = [\"\"\"\n{addr}\"\"\"]\nname.a = 1")
	ours, _ := filepath.Glob("../../subjects/*/subject.toml")
	for _, file := range ours {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse([]byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), ":") {
				t.Fatalf("got the error %q, want one that starts with a line", err)
			}
			return
		}
		again, err := toml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parse(again)
		if err != nil {
			t.Fatalf("the encoded subject\n%s\ngot error %v, want it parsed", again, err)
		}
		if a, b := normal(*s), normal(*back); !reflect.DeepEqual(a, b) {
			t.Fatalf("encoded and parsed again: got\n%+v\nwant\n%+v", b, a)
		}
	})
}

// normal makes empty and nil lists equal.
func normal(s Subject) Subject {
	for _, list := range []*[]string{&s.Lacks, &s.Workloads, &s.Needs, &s.CheckCmd, &s.VersionCmd, &s.BuildCmd, &s.RunCmd, &s.InsideCmd, &s.Sources} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	if len(s.Env) == 0 {
		s.Env = nil
	}
	return s
}
