package site

import (
	"fmt"
	"time"

	"weir/internal/printable"
	"weir/web"
	"weir/web/components/metrics"
)

// repeatAfter is the interval within which troubles of one kind, or equal panics, are reported
// once.
const repeatAfter = 10 * time.Second

// onFailure reports, as an event "trouble", an exchange that a server could not answer as intended.
func (l *Live) onFailure(server string, f web.Failure) {
	why := f.Err.Error()
	l.environment.reportTrouble(fmt.Sprint(server, f.Status, why[:min(len(why), 40)]), fmt.Sprintf("%s%s %s%s: answered by %d: %s", prefix(server), f.Method, f.Host, f.Target, f.Status, why))
}

// prefix returns the start of a line about a server. Without a name it is empty.
func prefix(server string) string {
	if server == "" {
		return ""
	}
	return server + ": "
}

// maxLine is the maximum length of a reported line in bytes.
const maxLine = 1000

// readable shortens a line and replaces characters that would disturb a terminal, since clients
// and programs control parts of it.
func readable(line string) string {
	if len(line) > maxLine {
		line = line[:maxLine] + "..."
	}
	return printable.Text(line)
}

// Upstreams returns the state of the upstreams of each proxy of the file. It numbers proxies of a
// server that have the same name.
func (l *Live) Upstreams() []metrics.Upstream {
	var all []metrics.Upstream
	for _, s := range l.Sites() {
		all = append(all, s.Upstreams...)
	}
	return all
}

// siteName is the name of the composition in a file whose server has no name.
const siteName = "site"

// Sites returns the running composition of each server, in the order of Servers.
func (l *Live) Sites() []metrics.Site {
	g := l.acquire()
	defer g.release()
	var all []metrics.Site
	for i, s := range g.site.Services {
		name := s.Name
		if name == "" {
			name = siteName
		}
		all = append(all, metrics.Site{Name: name, Site: g.handlers[i], Upstreams: s.upstreamReadings(l.environment.secrets)})
	}
	return all
}

func (s *Service) upstreamReadings(given *secrets) []metrics.Upstream {
	var all []metrics.Upstream
	named := map[string]int{}
	for _, p := range s.upstreams {
		name := p.name
		if named[p.name]++; named[p.name] > 1 {
			name = fmt.Sprintf("%s-%d", p.name, named[p.name])
		}
		for _, u := range p.read() {
			all = append(all, metrics.Upstream{Proxy: name, Name: u.Name, State: u.State(), Active: u.Active, Requests: u.Requests, Failures: u.Failures, Weight: u.Weight, Last: given.hide(u.LastError)})
		}
	}
	return all
}
