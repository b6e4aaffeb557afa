package site

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir/flow"
	"weir/web"
	"weir/web/components/metrics"
)

// MaxSize is how long a site file may be, in bytes.
const MaxSize = 1 << 20

// Site is what a site file says.
type Site struct {
	Server    Server
	Pipe      web.Component
	closers   []io.Closer
	upstreams []upstreams
}

// Close closes what the components hold. Nothing may be under way in them.
func (s *Site) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// Error is what is wrong with a site file, each with its place, and the lines of the file.
type Error struct {
	Diagnostics hcl.Diagnostics
	files       map[string]*hcl.File
}

// Error gives the first of what is wrong, in one line.
func (e *Error) Error() string { return e.Diagnostics.Error() }

// Explain writes all that is wrong, with the lines where it is; colour is for terminals, width is
// theirs in columns.
func (e *Error) Explain(w io.Writer, width uint, colour bool) error {
	return hcl.NewDiagnosticTextWriter(w, e.files, width, colour).WriteDiagnostics(e.Diagnostics)
}

// Load reads a site file. What is wrong with it is an [*Error]. Counts are what its components
// metrics count in; nil stands for new ones. Who calls Load calls Close.
func Load(file string, counts *metrics.Metrics) (*Site, error) {
	text, err := read(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, text, counts)
}

// surroundings are what a site that is read finds.
type surroundings struct {
	counts *metrics.Metrics
	keeper *keeper // what earlier readings of the file have left
	// reports what goes wrong while the site runs; called by several goroutines at once
	tell    func(kind, line string)
	looking bool // nothing outside is to be made: see Check
}

// alone are the surroundings of a site that is read once.
func alone(counts *metrics.Metrics, looking bool) surroundings {
	if counts == nil {
		counts = metrics.New()
	}
	return surroundings{counts, newKeeper(), func(string, string) {}, looking}
}

// Check is [Load] for who only looks: what serving would make or write to is not touched, but what
// stands in its way is an error. The site is not to be served.
func Check(file string) (*Site, error) {
	text, err := read(file)
	if err != nil {
		return nil, err
	}
	return parse(file, text, alone(nil, true))
}

// read reads a site file, and a byte more than it may have at most.
func read(file string) ([]byte, error) {
	// whose opening may wait for ever
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file: give a site file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// Parse is [Load] of a text; file is its name in errors.
func Parse(file string, text []byte, counts *metrics.Metrics) (*Site, error) {
	return parse(file, text, alone(counts, false))
}

func parse(file string, text []byte, in surroundings) (*Site, error) {
	parser := hclparse.NewParser()
	l := &loading{surroundings: in, places: map[string]hcl.Range{}, alike: map[string]int{}, whole: hcl.Range{Filename: file, Start: hcl.InitialPos, End: hcl.InitialPos}}
	s := &Site{}
	if len(text) > MaxSize {
		l.fail(l.whole, "File too long", "A site file has one megabyte at most.")
	} else if at, deep := tooDeep(text, file); deep {
		l.fail(at, "Nested too deep", fmt.Sprintf("A site file has %d levels of blocks, brackets and signs at most.", maxDepth))
	} else if parsed, diags := parser.ParseHCL(text, file); diags.HasErrors() {
		l.diags = diags
	} else {
		l.site(s, parsed.Body.(*hclsyntax.Body))
	}
	s.closers, s.upstreams = l.closers, l.upstreams
	if !l.diags.HasErrors() {
		l.check(s)
	}
	if l.diags.HasErrors() {
		return nil, errors.Join(&Error{l.diags, parser.Files()}, s.Close())
	}
	return s, nil
}

// site reads the blocks of the file: the server's, and the pipeline.
func (l *loading) site(s *Site, body *hclsyntax.Body) {
	rest := *body
	rest.Blocks = nil
	l.server = &s.Server
	seen := false
	for _, b := range body.Blocks {
		if b.Type != "server" {
			rest.Blocks = append(rest.Blocks, b)
			continue
		}
		if seen {
			l.fail(b.TypeRange, "Second server", "A site has one server.")
		}
		if len(b.Labels) > 0 {
			l.fail(b.LabelRanges[0], "Unexpected label", "The server has no name.")
		}
		seen = true
		l.diags = append(l.diags, gohcl.DecodeBody(b.Body, nil, &s.Server)...)
		s.Server.at = b.TypeRange
	}
	s.Pipe = l.pipeline(&rest, false)
}

// check finds what can't work together.
func (l *loading) check(s *Site) {
	if err := s.Server.validate(); err != nil {
		l.fail(s.Server.at, "Invalid server", err.Error())
	}
	h, err := web.New(s.Pipe, web.Options{Way: flow.Chain})
	if err == nil {
		err = h.Close()
	}
	if wrong, ok := errors.AsType[*web.CompositionError](err); ok {
		at, known := l.places[wrong.Place]
		if !known {
			at = l.whole
		}
		l.fail(at, "Composition that cannot work", wrong.Why)
	} else if err != nil {
		l.fail(l.whole, "Composition that cannot work", err.Error())
	}
}
