package site

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir/web"
	"weir/web/components/metrics"
)

// MaxSize is the maximum size of a site file in bytes.
const MaxSize = 1 << 20

// Site is the content of a site file.
type Site struct {
	Services []*Service // in the order of the file, at least one
	closers  []io.Closer
}

// Service is a server of a site file with what it serves.
type Service struct {
	Server
	Pipe       web.Component
	upstreams  []proxyUpstreams
	attributes hclsyntax.Attributes // of the block
}

// Close closes the components' resources. No exchange may be in progress.
func (s *Site) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// Error is a list of errors of a site file, each with its position and source lines.
type Error struct {
	Diagnostics hcl.Diagnostics
	files       map[string]*hcl.File
}

// Error returns the first error in one line.
func (e *Error) Error() string { return e.Diagnostics.Error() }

// Explain writes all errors with their source lines. colour is for terminals; width is the
// terminal's, in columns.
func (e *Error) Explain(w io.Writer, width uint, colour bool) error {
	return hcl.NewDiagnosticTextWriter(w, e.files, width, colour).WriteDiagnostics(e.Diagnostics)
}

// Load reads a site file. The error for an invalid file is an [*Error]. The site's components
// metrics count in counts; nil creates new ones. The caller must call Close.
func Load(file string, counts *metrics.Metrics) (*Site, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, text, counts)
}

// environment is what a site shares with earlier readings of its file.
type environment struct {
	counts *metrics.Metrics
	states *stateStore // states of components from earlier readings
	// Reports what failed at run time, in one line: see the "trouble" events of Live. Of equal
	// kinds, one is reported now and then. Several goroutines call it at once.
	reportTrouble func(kind, line string)
	dryRun        bool // create and write nothing: see Check
	// The names of the servers that run, in the order of their handlers. A file with other servers
	// is rejected. Nil: any servers.
	running       []string
	runningModels []string // the concurrency models of their connections
	values        Values
	secrets       *secrets                          // given values, of this and earlier readings
	read          func(name string) ([]byte, error) // reads an included file; nil: readFile
}

// newEnvironment returns the environment of a site that is read once. If counts is nil, it has new
// ones.
func newEnvironment(counts *metrics.Metrics, dryRun bool) environment {
	if counts == nil {
		counts = metrics.New()
	}
	return environment{counts: counts, states: newStateStore(), reportTrouble: func(string, string) {}, dryRun: dryRun, secrets: newSecrets()}
}

// Check is [Load] without side effects: it does not create or open for writing what serving would,
// but reports what would prevent that. Do not serve the site. The variables of the file have the
// given values.
func Check(file string, given ...Values) (*Site, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	in := newEnvironment(nil, true)
	in.give(given)
	return parse(file, text, in)
}

// give sets the values of variables. There is one at most.
func (e *environment) give(given []Values) {
	for _, v := range given {
		e.values = v
	}
}

// readFile reads a site file, at most one byte more than MaxSize.
func readFile(file string) ([]byte, error) {
	// opening a pipe or device may block for ever
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: name a site file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// Parse is [Load] for a text; file is its name in errors.
func Parse(file string, text []byte, counts *metrics.Metrics) (*Site, error) {
	return parse(file, text, newEnvironment(counts, false))
}

func parse(file string, text []byte, in environment) (*Site, error) {
	l := newLoader(file, in, hclparse.NewParser())
	s := &Site{}
	if body := l.readBody(file, text); body != nil {
		l.readSite(s, body)
	}
	s.closers = l.closers
	if !l.diags.HasErrors() {
		l.checkServices(s)
	}
	if l.diags.HasErrors() {
		return nil, errors.Join(&Error{l.secrets.hideIn(l.diags), l.parser.Files()}, s.Close())
	}
	return s, nil
}

func newLoader(file string, in environment, p *hclparse.Parser) *loader {
	if in.read == nil {
		in.read = readFile
	}
	return &loader{environment: in, parser: p, positions: map[string]hcl.Range{}, identityCounts: map[string]int{}, fileStart: fileStart(file)}
}

// readBody returns the body of a site file, with the files that it includes and without variables,
// or nil if there are errors.
func (l *loader) readBody(file string, text []byte) *hclsyntax.Body {
	body := l.parseText(file, text)
	if body == nil {
		return nil
	}
	body = l.readVariables(l.expanded(body, []string{filepath.Clean(file)}))
	if l.diags.HasErrors() {
		return nil
	}
	return body
}

// fileStart returns the position of errors in a file that have no other.
func fileStart(file string) hcl.Range {
	return hcl.Range{Filename: file, Start: hcl.InitialPos, End: hcl.InitialPos}
}
