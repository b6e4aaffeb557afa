// Package subject handles servers under test: it reads a server's description, builds it, starts it
// and stops it.
//
// A subject is described by one file, subject.toml: the command that builds it, the command that
// runs it at a given address, how to detect that it is ready. A server in any language can
// therefore be compared without a line of Go. Read and Discover find subjects and reject invalid
// ones. Missing returns what this machine lacks for one. Build and Start run its commands. A
// Process is a running subject, which the caller of Start must Stop.
//
// # Limitations
//
// Commands are lists of words, run without a shell. A word in braces such as {name} that is no
// known placeholder is rejected, so it cannot be passed on. A subject that goes into the background
// (its first process exits while another serves) counts as exited. Readiness by "listen" needs
// Linux's /proc; other systems use "connect". Readiness by "line:" replaces standard output by a
// pipe, which costs a server that prints every message more than /dev/null.
package subject

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Subject is a server under test. Read returns only valid ones; they do not change afterwards.
type Subject struct {
	Name string `toml:"name"` // [a-z0-9-]+
	// for readers: "C", "Go", "Rust"
	Language string `toml:"language"`
	// its concurrency model: "event loop", …
	Paradigm string `toml:"paradigm"`
	About    string `toml:"about"` // how it handles a message
	// how its work differs from the others'
	Differs string `toml:"differs"`
	// servers of files: what they lack of what others have, some of Lackable
	Lacks []string `toml:"lacks"`
	// chat servers: what happens to an acknowledged message if the server is killed
	Durability string `toml:"durability"`
	// "sink", "echo", "page", "files", "proxy", "chat"; or only "stack"
	Workloads []string `toml:"workloads"`
	// commands that must be on PATH to build or run it
	Needs []string `toml:"needs"`
	// exits with 0 if the subject can work on this machine; optional
	CheckCmd []string `toml:"check"`
	// prints the version of its runtime; optional
	VersionCmd []string `toml:"version"`
	BuildCmd   []string `toml:"build"` // optional
	RunCmd     []string `toml:"run"`   //
	// TCP/IP stacks: measures the stack's own loopback; optional
	InsideCmd []string `toml:"inside"`
	// TCP/IP stacks: "tap", or "veth" for the kernel's stack; "tap6" and "veth6" are with IPv6.
	// Empty for servers, and only for those.
	Network string `toml:"network"`
	// where the server listens in any case; 0: where {addr} or {port} says
	Port  int    `toml:"port"`
	Ready string `toml:"ready"` // "listen", "connect" or "line: TEXT"
	// messages until the whole server is warm; default 2000
	WarmMessages int `toml:"warm_messages"`
	// globs of files for counting lines, relative to Dir
	Sources      []string `toml:"sources"`
	Dependencies int      `toml:"dependencies"` // third-party libraries
	// the file whose size is reported; optional
	Binary   string            `toml:"binary"`
	Env      map[string]string `toml:"env"`      // added to the environment of run
	Contract string            `toml:"contract"` // "full" or "published"
	// it runs already, at an https:// address
	OwnTLS bool `toml:"-"`

	File string `toml:"-"` // absolute path of its subject.toml
	Dir  string `toml:"-"` // folder of File; commands run there
	// Temporary reports that Dir is removed after the run: no error may send a user there.
	Temporary bool   `toml:"-"`
	Root      string `toml:"-"` // the project: the nearest parent with a go.mod, else Dir
	Out       string `toml:"-"` // output folder of its build: Root/build/subjects/Name
}

// Lackable lists what a server of files may lack: fields of its responses, 304 for a client that
// has the file, and ranges.
var Lackable = []string{"ETag", "Last-Modified", "Date", "304", "Range"}

// Params are the parameters of a run that differ between trials.
type Params struct {
	Host     string // an IP address, without brackets
	Port     int    // 1 to 65535
	Workload string // "sink", "echo", "page", "files" or "proxy"; empty: sink
	Size     int    // bytes of a message; 0: 1000
	WorkUS   int    // microseconds of computing per message
	WaitMS   int    // milliseconds of waiting per message

	// For the HTTP workloads page, files and proxy:

	Www        string // absolute path of the folder to serve; required for a run command with {www}
	SleepMS    int    // milliseconds that every SleepEvery-th request sleeps
	SleepEvery int    // 0: no request sleeps
	Filters    int    // components that pass every request through unchanged
	Gzip       bool   // compress text for clients that accept it
	// absolute paths of a certificate and its key in PEM, to serve by TLS alone; empty: no TLS
	Cert, Key string

	Upstream string // HOST:PORT of the server behind a proxy, for the workload proxy

	// For TCP/IP stacks, whose address is Host:

	Tap   string // name of the device
	Net   string // Host with its prefix length: 10.77.0.2/24
	MTU   int    // bytes; 0: 1500
	Cores int    // number of cores to use; 0: all
}

// Inside describes the operation of a stack on its own loopback.
type Inside struct {
	Operation   string // "connect", "bulk" or "rr"
	Connections int
	Duration    time.Duration // of the window
	Cores       int           // number of cores to use; 0: all
}

// withDefaults sets the defaults of zero fields.
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

// Serves reports whether the subject has the workload.
func (s *Subject) Serves(workload string) bool { return slices.Contains(s.Workloads, workload) }

// ServesTLS reports whether the run command takes a certificate.
func (s *Subject) ServesTLS() bool { return s.usesPlaceholder("{cert}") }

// usesPlaceholder reports whether the run command or its environment contains the placeholder.
func (s *Subject) usesPlaceholder(placeholder string) bool {
	for _, word := range append(slices.Collect(maps.Values(s.Env)), s.RunCmd...) {
		if strings.Contains(word, placeholder) {
			return true
		}
	}
	return false
}

// place sets the fields that depend on the file's path.
func (s *Subject) place(file string) {
	s.File, s.Dir = file, filepath.Dir(file)
	s.Root = Project(s.Dir)
	s.Out = filepath.Join(s.Root, "build", "subjects", s.Name)
}
