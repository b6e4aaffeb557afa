package docs

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"weir/serve"
	"weir/web/server"
)

var cell = regexp.MustCompile("`([a-z]+)`")

// The table in concurrency-models.md says no for exactly the combinations that serve rejects.
func TestTheTableOfModelsAgreesWithServe(t *testing.T) {
	text, err := os.ReadFile("concurrency-models.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n| service |")
	if !found {
		t.Fatal("concurrency-models.md: got no table of services, want one")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	ways := cell.FindAllStringSubmatch(lines[0], -1)
	if len(ways) != len(serve.Ways) {
		t.Fatalf("got %d models in the table, want the %d of serve", len(ways), len(serve.Ways))
	}
	for _, line := range lines[2:] {
		answers := strings.Split(line, "|")
		for i, w := range ways {
			way, err := serve.ParseWay(w[1])
			if err != nil {
				t.Fatal(err)
			}
			trait := serve.Ways[way]
			refused := strings.Contains(line, "in process") && trait.MultiProcess || strings.Contains(line, "no file descriptor") && trait.NeedsDescriptor
			if engine := engineOf(line); engine != "" {
				s, err := server.New(http.NotFoundHandler(), server.Config{Addr: "127.0.0.1:0", Engine: engine, Model: way, ChildCommand: []string{"program"}})
				if refused = err != nil; !refused {
					s.Close()
				}
			}
			if says := strings.TrimSpace(answers[i+2]); strings.HasPrefix(says, "no") != refused && says != "no: it runs sessions" {
				t.Errorf("%s under %s: got %q in the table, want \"no\" exactly if serve rejects it (%t)", strings.TrimSpace(answers[1]), w[1], says, refused)
			}
		}
	}
}

// engineOf returns the engine of HTTP/1 that a row of the table is about; "" if it is about none.
func engineOf(row string) string {
	switch {
	case strings.Contains(row, "web by net/http"):
		return server.NetHTTP
	case strings.Contains(row, "web by Weir's engine"):
		return server.HTTP1
	}
	return ""
}
