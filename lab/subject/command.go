package subject

import "fmt"

// Commands describe a server without a subject.toml.
type Commands struct {
	Dir       string   // absolute path of the folder in which the commands run
	Out       string   // absolute path of the folder {out} for built files
	Build     []string // words of the command that builds it; empty: none
	Run       []string // words of the command that runs it, with {addr}, {port} or both
	Workloads []string // what it serves
}

// commandWarm is the warm-up of a subject without a subject.toml, in messages.
const commandWarm = 500

// FromCommands returns the subject of a server that has no subject.toml. It is ready when it
// listens. An error names the invalid setting: "run" or "build".
func FromCommands(name string, c Commands) (*Subject, error) {
	s := &Subject{
		Name: name, Language: "?", Paradigm: "?", About: "Given by its commands.", Workloads: c.Workloads,
		BuildCmd: c.Build, RunCmd: c.Run, Ready: "listen", WarmMessages: commandWarm, Contract: "published",
		File: "its command", Dir: c.Dir, Root: c.Dir, Out: c.Out,
	}
	if p := s.problem(); p != nil {
		return nil, fmt.Errorf("%s: %s%s", p.key, p.text, forInstance(p.key))
	}
	return s, nil
}
