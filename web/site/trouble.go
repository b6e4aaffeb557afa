package site

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"weir/web"
	"weir/web/components/metrics"
)

// repeatAfter is the interval in which trouble of one kind is reported once.
const repeatAfter = 10 * time.Second

// failed reports an exchange that the server could not answer as it should.
func (l *Live) failed(f web.Failure) {
	why := f.Err.Error()
	l.in.tell(fmt.Sprint(f.Status, why[:min(len(why), 40)]), fmt.Sprintf("%s %s%s is answered by %d: %s", f.Method, f.Host, f.Target, f.Status, why))
}

// longest is the size of the longest line about trouble, in bytes.
const longest = 1000

// printable is a line without what would disturb a terminal, since clients and programs have a say
// in it.
func printable(line string) string {
	if len(line) > longest {
		line = line[:longest] + "..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, line)
}

// Upstreams says how the upstreams of each proxy of the site fare. Of several proxies with one
// name, the further ones are numbered.
func (l *Live) Upstreams() []metrics.Upstream {
	g := l.enter()
	defer g.leave()
	var all []metrics.Upstream
	named := map[string]int{}
	for _, p := range g.site.upstreams {
		name := p.name
		if named[p.name]++; named[p.name] > 1 {
			name = fmt.Sprintf("%s-%d", p.name, named[p.name])
		}
		for _, u := range p.read() {
			all = append(all, metrics.Upstream{Proxy: name, Name: u.Name, State: u.State(), Active: u.Active, Requests: u.Requests, Failures: u.Failures, Last: u.Last})
		}
	}
	return all
}
