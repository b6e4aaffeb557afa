package reference

import (
	"slices"
	"strings"
	"testing"

	"weir/web"
	"weir/web/site"
)

// keeps says what a component keeps in its process for all connections, as its trait InProcess has
// it. An empty text means that each of several processes may have its own. A new component must be
// added, and so decide.
var keeps = map[string]string{
	"authenticate": "wrong passwords of clients", "cache": "responses", "echo": "connected clients", "limit_concurrency": "exchanges of clients",
	"limit_rate": "rates of clients", "metrics": "counts of requests", "watch": "connected clients",

	// limits and caches of these hold for each process, as their explanations say
	"cgi": "", "compress": "", "fastcgi": "", "files": "", "lower_quality": "", "proxy": "", "resize": "", "watermark": "",

	// these keep nothing between exchanges, or what is written to one file
	"bearer": "", "error_pages": "", "headers": "", "inject": "", "limit_body": "", "log": "", "pass": "", "pass_piped": "", "recover": "", "redirect": "",
	"replace": "", "request_id": "", "rewrite": "", "rot13": "", "rot13_piped": "", "security": "", "static": "", "status": "", "template": "", "text": "", "when": "",
}

func TestEachComponentDeclaresWhatItKeepsInItsProcess(t *testing.T) {
	inFolderOfExamples(t)
	for _, k := range site.Kinds() {
		want, declared := keeps[k.Name]
		if !declared {
			t.Errorf("%s: got no entry in the table, want what it keeps in its process", k.Name)
			continue
		}
		if err := load(t, exampleOf(k.Name)); err != nil {
			t.Fatal(err)
		}
		s, err := site.Check("site.hcl")
		if err != nil {
			t.Fatal(err)
		}
		h, err := web.New(s.Services[0].Pipe, web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		has := slices.ContainsFunc(h.InProcess(), func(said string) bool { return strings.Contains(said, "("+want+")") })
		if has != (want != "") || want == "" && len(h.InProcess()) > 0 {
			t.Errorf("%s: its example keeps %q, want (%s)", k.Name, h.InProcess(), want)
		}
		h.Close()
		s.Close()
	}
}
