package site

import (
	"errors"
	"fmt"

	"weir/web"
	"weir/web/components/accesslog"
	"weir/web/components/auth"
	"weir/web/components/basic"
	"weir/web/components/cache"
	"weir/web/components/cgi"
	"weir/web/components/compress"
	"weir/web/components/events"
	"weir/web/components/files"
	"weir/web/components/images"
	"weir/web/components/proxy"
)

// kinds are the components, by the names that site files call them by.
var kinds map[string]Kind

func init() { // the kinds with components inside refer to the table
	kinds = map[string]Kind{
		"authenticate":      guard("lets in whom a file of passwords knows (HTTP Basic)", auth.Basic),
		"bearer":            guard("lets in who has a signed token (JWT)", auth.Bearer),
		"echo":              of("a WebSocket that says what it hears", events.Echo),
		"cache":             around("keeps what its components answer, as HTTP allows (RFC 9111)", cache.Around),
		"cgi":               of("answers with what programs of a folder write (CGI)", cgi.New),
		"compress":          of("compresses bodies as the client accepts it", compress.New),
		"error_pages":       of("gives answers of some statuses a page", basic.ErrorPages),
		"fastcgi":           of("answers with what an application writes (FastCGI)", cgi.NewFastCGI),
		"files":             of("answers with files of a folder", files.New),
		"headers":           of("sets and takes out fields of both heads", basic.Headers),
		"inject":            of("puts a text into HTML pages", basic.Inject),
		"limit_body":        of("refuses requests whose body is too long", basic.LimitBody),
		"limit_concurrency": of("refuses what comes while too many requests are under way", basic.LimitConcurrency),
		"limit_rate":        {About: "refuses what comes too often from one client", build: limitRate},
		"log":               checked("writes a line about each exchange", accesslog.New, accesslog.Check),
		"lower_quality":     of("makes pictures smaller for who saves data", images.LowerQuality),
		"metrics":           {About: "counts exchanges for the admin address's /metrics", build: countedBy},
		"pass":              plain("lets everything through", basic.Pass),
		"pass_piped":        plain("lets everything through by a pipe, as the paper does", basic.PassPiped),
		"proxy":             checked("answers with what other servers answer", moved(proxy.New), moved(proxy.Check)),
		"recover":           of("says what the client reads when a component panics", basic.Recover),
		"redirect":          of("sends the client elsewhere", basic.Redirect),
		"replace":           of("replaces a text in bodies", basic.Replace),
		"request_id":        of("gives each exchange a name for the logs", basic.RequestID),
		"rewrite":           of("changes the path for what follows", basic.Rewrite),
		"rot13":             plain("the paper's filter: each letter 13 further", basic.Rot13),
		"rot13_piped":       plain("the same in the paper's style: a goroutine between a reader and a writer", basic.Rot13Piped),
		"security":          of("sets the fields that make browsers careful", basic.Security),
		"static":            of("answers with a fixed response", basic.Static),
		"status":            of("answers with a status", basic.Status),
		"template":          of("answers with a template that is filled in", basic.Template),
		"text":              of("answers with a text", func(c textConfig) (web.Component, error) { return basic.Text(c.Text), nil }),
		"watch":             of("tells browsers when a file of a folder changes (server-sent events)", events.Watch),
		"watermark":         of("puts a mark on pictures", images.Watermark),
		"when":              when(),
	}
}

// textConfig is the attributes of text.
type textConfig struct {
	Text string `hcl:"text"`
}

// countedBy makes the component metrics, which counts in what all of a live site's count in.
func countedBy(b *block) web.Component {
	var none struct{}
	if !b.decode(&none) || !b.hasNoBlocks() {
		return nil
	}
	return b.finish(b.counts.Component())
}

// limitRate makes the component limit_rate, which may tell clients apart by a field only where not every client can invent it.
func limitRate(b *block) web.Component {
	return of("", func(c basic.LimitRateConfig) (web.Component, error) {
		if c.Header != "" && len(b.server.Trusted) == 0 {
			return nil, fmt.Errorf("limit_rate: header is %q, which every client can make up, and so escape the limit: name the fronts that set it in the "+
				"block server, as trusted = [\"10.0.0.0/8\"], or leave header out to limit by address", c.Header)
		}
		c.Fronts = true
		return basic.LimitRate(c)
	}).build(b)
}

// moved is a maker of proxies for sites, in which all components trust the same fronts.
func moved(make func(proxy.Config) (web.Component, error)) func(proxy.Config) (web.Component, error) {
	return func(c proxy.Config) (web.Component, error) {
		if len(c.Trusted) > 0 {
			return nil, errors.New("proxy: trusted has moved: write it in the block server, where it holds for the log, the limits and the conditions too")
		}
		return make(c)
	}
}
