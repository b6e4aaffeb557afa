package subject

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/shlex"
)

// Commands describe a server without a subject.toml.
type Commands struct {
	Dir       string   // absolute path of the folder in which the commands run
	Out       string   // absolute path of the folder {out} for built files
	Build     []string // words of the command that builds it; empty: none
	Run       []string // words of the command that runs it, with {addr}, {port} or both
	Port      int      // where the server listens in any case; 0: where {addr} or {port} says
	Workloads []string // what it serves
}

// FromCommands returns the subject of a server that has no subject.toml. It is ready when it
// listens. Its environment has the port as PORT. An error names the invalid setting: "run", "port"
// or "build".
func FromCommands(name string, c Commands) (*Subject, error) {
	s := &Subject{
		Name: name, Language: "?", Paradigm: "?", About: "Given by its commands.", Workloads: c.Workloads,
		BuildCmd: c.Build, RunCmd: c.Run, Port: c.Port, Ready: "listen", WarmMessages: defaultWarm, Contract: "published",
		Env: map[string]string{"PORT": "{port}"}, File: commandFile, Dir: c.Dir, Root: c.Dir, Out: c.Out,
	}
	if p := s.problem(); p != nil {
		return nil, fmt.Errorf("%s: %s%s", p.key, p.text, forInstance(p.key))
	}
	return s, nil
}

// commandFile is Subject.File of a server without a file, as errors name it.
const commandFile = "its command"

// nameAndPort matches what stands before "=" in a subject of the command line.
var nameAndPort = regexp.MustCompile(`^([a-z0-9-]+)(:([0-9]{1,5}))?=(.+)$`)

// A Given is a subject as a command line gives it.
type Given struct {
	Name    string
	Command string // of the server; empty for a file or a server that runs already
	// Port is where the command listens in any case; 0: where its placeholders say; -1: invalid.
	Port int
	URL  string // of a server that runs already: http://HOST:PORT or https://HOST:PORT
	File string // its subject.toml, or the folder of that
}

// ParseGiven parses a subject of a command line: the path of a subject.toml or of its folder,
// "NAME=COMMAND" where the command has {port} or {addr}, "NAME:PORT=COMMAND" for a command with a
// port of its own, or "NAME=URL" for a server that runs already.
func ParseGiven(text string) Given {
	m := nameAndPort.FindStringSubmatch(text)
	if _, err := os.Stat(text); err == nil || m == nil {
		return Given{File: text}
	}
	g := Given{Name: m[1]}
	g.Port, _ = strconv.Atoi(m[3]) // digits, or nothing
	if m[3] != "" && g.Port == 0 {
		g.Port = noPort
	}
	if scheme, rest, ok := strings.Cut(m[4], "://"); ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		g.URL = strings.ToLower(scheme) + "://" + rest
	} else {
		g.Command = m[4]
	}
	return g
}

// noPort is Given.Port of a port that was written as 0, at which no server can listen. It is
// invalid, so that Given.Subject returns an error.
const noPort = -1

// Subject returns the subject of a command that runs in the folder dir, and serves a workload. The
// words of the command are split as a shell does it, and no shell runs it.
func (g Given) Subject(dir, workload string) (*Subject, error) {
	words, err := shlex.Split(g.Command)
	if err != nil || len(words) == 0 {
		return nil, fmt.Errorf("the subject %s: its command %q has no words, or an open quote", g.Name, g.Command)
	}
	s, err := FromCommands(g.Name, Commands{Dir: dir, Out: dir, Run: words, Port: g.Port, Workloads: []string{workload}})
	if err != nil {
		return nil, fmt.Errorf("the subject %s: %w", g.Name, err)
	}
	if strings.Contains(words[0], "/") {
		s.Binary = words[0]
	}
	return s, nil
}
