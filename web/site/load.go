package site

import (
	"errors"
	"fmt"
	"io"
	"os"

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
	Pipe      web.Component
	upstreams []proxyUpstreams
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
	running []string
}

// newEnvironment returns the environment of a site that is read once. If counts is nil, it has new
// ones.
func newEnvironment(counts *metrics.Metrics, dryRun bool) environment {
	if counts == nil {
		counts = metrics.New()
	}
	return environment{counts: counts, states: newStateStore(), reportTrouble: func(string, string) {}, dryRun: dryRun}
}

// Check is [Load] without side effects: it does not create or open for writing what serving would,
// but reports what would prevent that. Do not serve the site.
func Check(file string) (*Site, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	return parse(file, text, newEnvironment(nil, true))
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
	parser := hclparse.NewParser()
	l := &loader{environment: in, positions: map[string]hcl.Range{}, identityCounts: map[string]int{}, fileStart: hcl.Range{Filename: file, Start: hcl.InitialPos, End: hcl.InitialPos}}
	s := &Site{}
	if len(text) > MaxSize {
		l.addError(l.fileStart, "File too long", "A site file may have at most one megabyte.")
	} else if at, deep := findTooDeep(text, file); deep {
		l.addError(at, "Nested too deep", fmt.Sprintf("A site file may nest blocks, brackets and unary operators at most %d levels deep.", maxDepth))
	} else if parsed, diags := parser.ParseHCL(text, file); diags.HasErrors() {
		l.diags = diags
	} else {
		l.readSite(s, parsed.Body.(*hclsyntax.Body))
	}
	s.closers = l.closers
	if !l.diags.HasErrors() {
		l.checkServices(s)
	}
	if l.diags.HasErrors() {
		return nil, errors.Join(&Error{l.diags, parser.Files()}, s.Close())
	}
	return s, nil
}
