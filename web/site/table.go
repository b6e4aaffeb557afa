package site

import (
	"reflect"

	"weir/web"
	"weir/web/components/basic"
	"weir/web/components/cache"
	"weir/web/components/cgi"
	"weir/web/components/compress"
	"weir/web/components/files"
)

// kinds are the components by their names in site files. A constructor turns the function that
// makes a component into a Kind:
//
//   - plainKind: the component has no attributes.
//   - simpleKind: the attributes of the block are its configuration, and all that it needs.
//   - blockKind: it also needs the block, to report troubles or to know the server. A reload makes
//     a new component.
//   - statefulKind: like blockKind, but a reload keeps the component while its block is the same in
//     the same place. Its last argument returns the folder that the configuration names, so that
//     another folder of the same name is another component; nil means that it names none.
//   - guardKind: its block may have two pipelines inside, the blocks allowed and refused, for the
//     exchanges that it admits and for those that it rejects.
//
// cache, metrics, proxy and when fit none of these: each is built by a function of its own.
var kinds map[string]Kind

func init() { // not an initializer: kinds with components inside refer to the table
	kinds = map[string]Kind{
		"authenticate":      guardKind("admits users of a password file (HTTP Basic)", makeAuthenticate),
		"bearer":            guardKind("admits clients with a signed token (JWT)", makeBearer),
		"echo":              blockKind("echoes messages over a WebSocket", makeEcho),
		"cache":             {About: "caches the responses of the components inside (RFC 9111)", Config: reflect.TypeFor[cache.Config](), build: makeCache},
		"cgi":               statefulKind("answers with the output of programs of a folder (CGI)", makeCGI, func(c cgi.Config) string { return c.Dir }),
		"compress":          statefulKind("compresses bodies with a coding that the client accepts", configOnly(compress.New), nil),
		"error_pages":       simpleKind("replaces the bodies of error statuses by pages", basic.ErrorPages),
		"fastcgi":           statefulKind("answers with the output of an application (FastCGI)", makeFastCGI, func(c cgi.FastCGIConfig) string { return c.Dir }),
		"files":             statefulKind("answers with files of a folder", configOnly(files.New), func(c files.Config) string { return c.Dir }),
		"headers":           simpleKind("sets and removes request and response fields", basic.Headers),
		"inject":            simpleKind("inserts a text into HTML pages", basic.Inject),
		"limit_body":        simpleKind("rejects requests whose body is too long", basic.LimitBody),
		"limit_concurrency": statefulKind("rejects requests above a number in progress", makeLimitConcurrency, nil),
		"limit_rate":        statefulKind("rejects requests above a rate per client", makeLimitRate, nil),
		"log":               statefulKind("writes a line for each exchange", makeLog, nil),
		"lower_quality":     blockKind("makes pictures smaller for clients with Save-Data", makeLowerQuality),
		"metrics":           {About: "counts exchanges for the admin address's /metrics", Config: reflect.TypeFor[struct{}](), build: makeMetrics},
		"pass":              plainKind("changes nothing", basic.Pass),
		"pass_piped":        plainKind("passes the body through a goroutine, to measure what that costs", basic.PassPiped),
		"proxy":             proxyKind(),
		"recover":           simpleKind("sets the response for a component that panics", basic.Recover),
		"redirect":          simpleKind("redirects the client", basic.Redirect),
		"replace":           simpleKind("replaces a text in bodies", basic.Replace),
		"request_id":        simpleKind("gives each exchange an identifier for logs", basic.RequestID),
		"resize":            statefulKind("scales pictures down to the width that a query asks for", makeResize, nil),
		"rewrite":           simpleKind("changes the path for what follows", basic.Rewrite),
		"rot13":             plainKind("rotates letters by 13: an example of a filter", basic.Rot13),
		"rot13_piped":       plainKind("rot13 with a goroutine of its own, to measure what that costs", basic.Rot13Piped),
		"security":          simpleKind("sets security fields for browsers (CSP, HSTS and others)", basic.Security),
		"static":            simpleKind("answers with a fixed response", basic.Static),
		"status":            simpleKind("answers with a status", basic.Status),
		"template":          simpleKind("answers with a template that is filled in", basic.Template),
		"text":              simpleKind("answers with a text", func(c textConfig) (web.Component, error) { return basic.Text(c.Text), nil }),
		"watch":             blockKind("notifies browsers of changed files (server-sent events)", makeWatch),
		"watermark":         blockKind("puts a watermark on pictures", makeWatermark),
		"when":              whenKind(),
	}
}

// textConfig is the attributes of text.
type textConfig struct {
	// Text is the body of the response, as text/plain in UTF-8.
	Text string `hcl:"text"`
}

// makeMetrics makes the component metrics. All metrics components of a server share one set of
// counters, which every reload keeps. It returns nil if the block is invalid: the error is then in
// b.diags.
func makeMetrics(b *block) web.Component {
	var none struct{}
	if !b.decode(&none) || !b.hasNoBlocks() {
		return nil
	}
	return b.register(b.counts.ServerComponent(b.server.Name))
}
