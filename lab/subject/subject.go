// Package subject handles servers under test: it reads what a server says of itself, builds it,
// starts it and stops it.
//
// A subject is described by one file, subject.toml, and nothing else: which command builds it,
// which runs it at a given address, how to know that it is ready. So a server in any language takes
// part in a comparison without a line of Go. Read and Discover find subjects and refuse what could
// not work; Missing says what this machine lacks for one; Build and Start run its commands; a
// Process is a running one, which its starter must Stop.
//
// # Limitations
//
// Commands are lists of words, run without a shell; a brace word such as {name} that is no
// placeholder is refused, so it cannot be passed on. A subject that goes into the background (its
// first process exits while another serves) counts as dead. Readiness by "listen" needs Linux's
// /proc; elsewhere "connect" is used in its place. Readiness by "line:" puts a pipe where the
// server's standard output would be, which costs a server that prints every message more than
// /dev/null does.
package subject

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Subject is a server under test. Read returns only valid ones; nothing changes one afterwards.
type Subject struct {
	Name string `toml:"name"` // [a-z0-9-]+
	// as a reader would write it: "C", "Go", "Rust"
	Language string `toml:"language"`
	// how it handles concurrency: "event loop", …
	Paradigm string `toml:"paradigm"`
	About    string `toml:"about"` // what it does with a message
	// where its work is not equal to the others'
	Differs string `toml:"differs"`
	// of a chat server: what becomes of an acknowledged message when it is killed
	Durability string `toml:"durability"`
	// of the known ones: "sink", "echo", "page", "files", "chat"; or "stack" alone
	Workloads []string `toml:"workloads"`
	// commands that must be on PATH to build or run it
	Needs []string `toml:"needs"`
	// exits 0 where the subject can work; optional
	CheckCmd []string `toml:"check"`
	// prints the version of what it runs on; optional
	VersionCmd []string `toml:"version"`
	BuildCmd   []string `toml:"build"` // optional
	RunCmd     []string `toml:"run"`   //
	// of a TCP/IP stack: measures its own loopback; optional
	InsideCmd []string `toml:"inside"`
	// of a TCP/IP stack: "tap", or "veth" for one that is a kernel's
	Network string `toml:"network"`
	Ready   string `toml:"ready"` // "listen", "connect" or "line: TEXT"
	// messages the whole server needs to be warm; 2000 if not given
	WarmMessages int `toml:"warm_messages"`
	// globs, relative to Dir, for counting lines
	Sources      []string          `toml:"sources"`
	Dependencies int               `toml:"dependencies"` // third-party libraries
	Binary       string            `toml:"binary"`       // the file whose size is told; optional
	Env          map[string]string `toml:"env"`          // added to the environment of run
	Contract     string            `toml:"contract"`     // "full" or "published"

	File string `toml:"-"` // the absolute path of its subject.toml
	Dir  string `toml:"-"` // the folder of File; commands run there
	Root string `toml:"-"` // the project: the nearest parent with a go.mod, else Dir
	Out  string `toml:"-"` // where its build writes: Root/build/subjects/Name
}

// Params are the parts of a run that differ from trial to trial.
type Params struct {
	Host     string // an IP address, without brackets
	Port     int    // 1 to 65535
	Workload string // "sink", "echo", "page" or "files"; empty means sink
	Size     int    // bytes of a message; 0 means 1000
	WorkUS   int    // microseconds of work for each message
	WaitMS   int    // milliseconds of waiting for each message

	// What follows is for the HTTP workloads, page and files.

	Www        string // the folder to serve, absolute; a run command with {www} cannot do without
	SleepMS    int    // milliseconds that every SleepEvery-th request sleeps
	SleepEvery int    // 0: no request sleeps
	Filters    int    // components that pass everything through
	Gzip       bool   // compress text for clients that take it

	// What follows is for TCP/IP stacks, whose address is Host.

	Tap   string // the device
	Net   string // Host with the length of its network: 10.77.0.2/24
	MTU   int    // bytes; 0 means 1500
	Cores int    // to run on; 0: all
}

// Inside says what a stack is to do on its own loopback.
type Inside struct {
	Operation   string // "connect", "bulk" or "rr"
	Connections int
	Duration    time.Duration // of the window
	Cores       int           // to run on; 0: all
}

// withDefaults fills what a caller may leave out.
func (p Params) withDefaults() Params {
	if p.Workload == "" {
		p.Workload = "sink"
	}
	if p.Size == 0 {
		p.Size = 1000
	}
	if p.MTU == 0 {
		p.MTU = 1500
	}
	return p
}

// Serves says whether the subject has the workload.
func (s *Subject) Serves(workload string) bool {
	for _, w := range s.Workloads {
		if w == workload {
			return true
		}
	}
	return false
}

// told says whether a run is told what the placeholder stands for.
func (s *Subject) told(placeholder string) bool {
	for _, word := range append(slices.Collect(maps.Values(s.Env)), s.RunCmd...) {
		if strings.Contains(word, placeholder) {
			return true
		}
	}
	return false
}

// place fills in what depends on the file's place.
func (s *Subject) place(file string) {
	s.File, s.Dir = file, filepath.Dir(file)
	s.Root = Project(s.Dir)
	s.Out = filepath.Join(s.Root, "build", "subjects", s.Name)
}
