package site

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weir/flow"
	"weir/web"
)

const (
	serverBlock = "server"
	tlsBlock    = "tls"
)

// serverName is the form of a server's name, which stands in logs, metrics and drawings.
var serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// readSite reads the servers of a file. They are either one pipeline, with at most one "server"
// block without a name beside it, or named "server" blocks with a pipeline each inside.
func (l *loader) readSite(s *Site, body *hclsyntax.Body) {
	var servers []*hclsyntax.Block
	rest := *body
	rest.Blocks = nil
	named := false
	for _, b := range body.Blocks {
		if b.Type != serverBlock {
			rest.Blocks = append(rest.Blocks, b)
			continue
		}
		servers = append(servers, b)
		named = named || len(b.Labels) > 0
	}
	if named {
		l.readNamed(s, servers, &rest)
		return
	}
	one := &Service{}
	s.Services = []*Service{one}
	for i, b := range servers {
		if i > 0 {
			l.addError(b.TypeRange, "Second server", `A site has one block server without a name: merge the two, or name each, as in server "www" { ... }, and put its pipeline inside.`)
		}
		config, components := splitServer(b)
		for _, c := range components.Blocks {
			l.addError(c.TypeRange, "Component inside server", fmt.Sprintf(
				`A server without a name has its pipeline beside it: put %s outside of the block, or name the server, as in server "www" { ... }.`, c.Type))
		}
		l.decodeServer(config, one)
	}
	l.server = &one.Server
	one.Pipe = l.pipeline(&rest, false)
	one.upstreams = l.upstreams
}

// readNamed reads the servers of a file in which they have names. rest is the file without them.
func (l *loader) readNamed(s *Site, servers []*hclsyntax.Block, rest *hclsyntax.Body) {
	for _, a := range rest.Attributes {
		l.addError(a.NameRange, "Unexpected attribute", fmt.Sprintf("A file with named servers has only blocks: put %s into the block that it belongs to.", a.Name))
	}
	for _, b := range rest.Blocks {
		l.addError(b.TypeRange, "Component outside of the servers", fmt.Sprintf("The servers of this file have names, so each has its pipeline inside: put %s into the server that needs it.", b.Type))
	}
	seen := map[string]bool{}
	for _, b := range servers {
		switch {
		case len(b.Labels) == 0:
			l.addError(b.TypeRange, "Server without a name", `Where one server of a file has a name, each has: write server "NAME" { ... }.`)
		case len(b.Labels) > 1:
			l.addError(b.LabelRanges[1], "Too many labels", "A server has one label, its name.")
		case !serverName.MatchString(b.Labels[0]):
			l.addError(b.LabelRanges[0], "Invalid name", "The name of a server has at most 63 letters of ASCII, digits, dots, dashes and underscores, and starts with a letter or a digit.")
		case seen[b.Labels[0]]:
			l.addError(b.LabelRanges[0], "Second server of this name", fmt.Sprintf("There is a server %q before this one: choose another name.", b.Labels[0]))
		default:
			seen[b.Labels[0]] = true
			s.Services = append(s.Services, l.namedServer(b))
		}
	}
}

// namedServer reads a server with its pipeline.
func (l *loader) namedServer(b *hclsyntax.Block) *Service {
	defer func(report func(kind, line string)) { l.reportTrouble = report }(l.reportTrouble)
	name, report := b.Labels[0], l.reportTrouble
	l.reportTrouble = func(kind, line string) { report(name+" "+kind, name+": "+line) }
	service := &Service{Server: Server{Name: name}}
	config, components := splitServer(b)
	l.decodeServer(config, service)
	l.server, l.upstreams = &service.Server, nil
	defer l.enterBlock(b)()
	service.Pipe = l.pipeline(components, false)
	service.upstreams = l.upstreams
	return service
}

// splitServer parts a "server" block into its settings and its pipeline.
func splitServer(b *hclsyntax.Block) (config *hclsyntax.Block, components *hclsyntax.Body) {
	settings, pipeline, block := *b.Body, *b.Body, *b
	settings.Blocks, pipeline.Blocks, pipeline.Attributes = nil, nil, nil
	for _, inner := range b.Body.Blocks {
		if inner.Type == tlsBlock {
			settings.Blocks = append(settings.Blocks, inner)
		} else {
			pipeline.Blocks = append(pipeline.Blocks, inner)
		}
	}
	block.Body = &settings
	return &block, &pipeline
}

// decodeServer reads the settings of a "server" block.
func (l *loader) decodeServer(b *hclsyntax.Block, into *Service) {
	settings := *b.Body
	settings.Attributes = listsOf(settings.Attributes, l.evaluation, reflect.TypeFor[Server]())
	settings.Blocks = slices.Clone(settings.Blocks)
	for i, inner := range settings.Blocks { // of tls
		one, body := *inner, *inner.Body
		body.Attributes = listsOf(body.Attributes, l.evaluation, reflect.TypeFor[TLS]())
		one.Body, settings.Blocks[i] = &body, &one
	}
	l.diags = append(l.diags, gohcl.DecodeBody(&settings, l.evaluation, &into.Server)...)
	into.at, into.attributes = b.TypeRange, b.Body.Attributes
}

// checkServices adds errors for servers and components that cannot work, alone or together.
func (l *loader) checkServices(s *Site) {
	for i, service := range s.Services {
		if err := service.validate(); err != nil {
			l.addError(service.at, "Invalid server", err.Error())
		}
		service.Engine, service.Model = cmp.Or(l.values.Engine, service.Engine), cmp.Or(l.values.Model, service.Model)
		l.checkModel(service, len(s.Services))
		l.checkTogether(s.Services[:i], service)
		l.checkComposition(service)
	}
	if l.running != nil && !l.diags.HasErrors() {
		l.matchRunning(s)
	}
}

// checkTogether adds errors for a server that cannot run beside those before it.
func (l *loader) checkTogether(before []*Service, service *Service) {
	if service.Name == "" {
		return
	}
	if service.Listen == "" {
		l.addError(service.at, "Missing address", fmt.Sprintf(`The server %q has no address to listen on: write one, such as listen = ":8080".`, service.Name))
	}
	for _, other := range before {
		if service.Admin != "" && other.Admin != "" {
			l.addError(service.at, "Second admin page", fmt.Sprintf("The servers %q and %q both have an attribute admin: one page shows all servers, so remove one.", other.Name, service.Name))
		}
		for _, a := range other.addresses() {
			for _, b := range service.addresses() {
				if overlap(a, b) {
					l.addError(service.at, "Address used twice", fmt.Sprintf("The servers %q and %q would both listen on %s: choose another address, or make them one server, "+
						`with a route for each host, as in route "example.org/" { ... }.`, other.Name, service.Name, b))
				}
			}
		}
	}
	if len(service.addresses()) == 2 && overlap(service.Listen, service.Admin) {
		l.addError(service.at, "Address used twice", fmt.Sprintf("The server %q would listen on %s twice: choose another address for admin.", service.Name, service.Admin))
	}
}

// addresses returns the addresses that the server listens on.
func (s Server) addresses() []string {
	return slices.DeleteFunc([]string{s.Listen, s.Admin}, func(a string) bool { return a == "" })
}

// overlap reports whether one program could not listen on both addresses. It knows no host names.
func overlap(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil {
		return false // reported elsewhere
	}
	first, errA := net.LookupPort("tcp", portA)
	second, errB := net.LookupPort("tcp", portB)
	if errA != nil || errB != nil || first != second || first == 0 {
		return false
	}
	if hostA == hostB || hostA == "" || hostB == "" {
		return true
	}
	ipA, errA := netip.ParseAddr(hostA)
	ipB, errB := netip.ParseAddr(hostB)
	if errA != nil || errB != nil {
		return false
	}
	ipA, ipB = ipA.Unmap(), ipB.Unmap()
	// the IPv6 wildcard accepts IPv4 too
	covers := func(wild, other netip.Addr) bool { return wild.IsUnspecified() && (wild.Is6() || other.Is4()) }
	return ipA == ipB || covers(ipA, ipB) || covers(ipB, ipA)
}

// matchRunning brings the servers into the order of the running ones. It adds an error for each
// that does not run or is missing.
func (l *loader) matchRunning(s *Site) {
	ordered := make([]*Service, len(l.running))
	for _, service := range s.Services {
		if i := slices.Index(l.running, service.Name); i >= 0 {
			ordered[i] = service
		} else {
			l.addError(service.at, "New server", fmt.Sprintf("%s does not run yet: restart the program to add it.", service.title()))
		}
	}
	for i, name := range l.running {
		if ordered[i] == nil {
			l.addError(l.fileStart, "Missing server", fmt.Sprintf("%s runs, and is not in the file: restart the program to remove it.", Server{Name: name}.title()))
		}
	}
	s.Services = ordered
}

// title returns the server's name as the start of a sentence.
func (s Server) title() string {
	if s.Name == "" {
		return "A server without a name"
	}
	return fmt.Sprintf("The server %q", s.Name)
}

// checkComposition adds errors for components that cannot work together.
func (l *loader) checkComposition(s *Service) {
	h, err := web.New(s.Pipe, web.Options{Way: flow.Chain})
	if err == nil {
		l.checkState(s, h)
		err = h.Close()
	}
	start := l.fileStart
	if s.Name != "" {
		start = s.at
	}
	if wrong, ok := errors.AsType[*web.CompositionError](err); ok {
		l.addError(l.positionOr(wrong.Position, start), "Composition that cannot work", wrong.Reason)
	} else if err != nil {
		l.addError(start, "Composition that cannot work", err.Error())
	}
}

// positionOr returns the position of the component that a composition's error names, or another
// one.
func (l *loader) positionOr(name string, other hcl.Range) hcl.Range {
	if at, ok := l.positions[name]; ok {
		return at
	}
	return other
}
