package site

import (
	"weir/web"
	"weir/web/components/basic"
	"weir/web/components/cgi"
	"weir/web/components/compress"
	"weir/web/components/files"
	"weir/web/components/images"
)

// kinds are the components, by the names that site files call them by.
var kinds map[string]Kind

func init() { // the kinds with components inside refer to the table
	kinds = map[string]Kind{
		"authenticate":      guard("lets in whom a file of passwords knows (HTTP Basic)", passwords),
		"bearer":            guard("lets in who has a signed token (JWT)", tokens),
		"echo":              inSite("a WebSocket that says what it hears", echo),
		"cache":             {About: "keeps what its components answer, as HTTP allows (RFC 9111)", build: cached},
		"cgi":               lasting("answers with what programs of a folder write (CGI)", programs, func(c cgi.Config) string { return c.Dir }),
		"compress":          lasting("compresses bodies as the client accepts it", simply(compress.New), nil),
		"error_pages":       of("gives answers of some statuses a page", basic.ErrorPages),
		"fastcgi":           lasting("answers with what an application writes (FastCGI)", application, func(c cgi.FastCGIConfig) string { return c.Dir }),
		"files":             lasting("answers with files of a folder", simply(files.New), func(c files.Config) string { return c.Dir }),
		"headers":           of("sets and takes out fields of both heads", basic.Headers),
		"inject":            of("puts a text into HTML pages", basic.Inject),
		"limit_body":        of("refuses requests whose body is too long", basic.LimitBody),
		"limit_concurrency": lasting("refuses what comes while too many requests are under way", limitConcurrency, nil),
		"limit_rate":        lasting("refuses what comes too often from one client", limitRate, nil),
		"log":               lasting("writes a line about each exchange", logged, nil),
		"lower_quality":     of("makes pictures smaller for who saves data", images.LowerQuality),
		"metrics":           {About: "counts exchanges for the admin address's /metrics", build: countedBy},
		"pass":              plain("lets everything through", basic.Pass),
		"pass_piped":        plain("lets everything through by a pipe, as the paper does", basic.PassPiped),
		"proxy":             lasting("answers with what other servers answer", proxied, nil),
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
		"watch":             inSite("tells browsers when a file of a folder changes (server-sent events)", watched),
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
