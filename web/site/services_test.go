package site

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/flow"
	"weir/web/components/metrics"
	"weir/web/internal/webtest"
)

// answer is what server number i of a live site answers.
func (l *lived) answer(t *testing.T, i int, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	l.Serve(i).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Body.String()
}

const twoServers = `
server "plain" {
  listen = ":80"
  redirect { https = true }
}

server "site" {
  listen = ":443"
  run    = "network"
  text { text = "hello" }
}
`

func TestEachNamedServerHasSettingsAndAPipelineOfItsOwn(t *testing.T) {
	l := live(t, "", twoServers)
	servers := l.Servers()
	if len(servers) != 2 || servers[0].Name != "plain" || servers[0].Listen != ":80" || servers[1].Name != "site" || servers[1].Listen != ":443" {
		t.Fatalf("got the servers %+v, want plain on :80 and site on :443", servers)
	}
	if got := l.answer(t, 1, "/"); got != "hello" {
		t.Errorf("the second server: got %q, want hello", got)
	}
	w := httptest.NewRecorder()
	l.Serve(0).ServeHTTP(w, httptest.NewRequest("GET", "http://example.org/a?b=c", nil))
	if got := w.Header().Get("Location"); got != "https://example.org/a?b=c" {
		t.Errorf("the first server: got %d and a redirect to %q, want https://example.org/a?b=c", w.Code, got)
	}
	sites := l.Sites()
	for i, want := range []struct {
		name string
		way  flow.Way
	}{{"plain", flow.Chain}, {"site", flow.Network}} {
		if got := sites[i].Site.Topology().Way; sites[i].Name != want.name || got != want.way {
			t.Errorf("composition %d: got %s by %s, want %s by %s", i, sites[i].Name, got, want.name, want.way)
		}
	}
}

func TestErrorsOfSeveralServersHaveTheirPosition(t *testing.T) {
	const text = "text { text = \"x\" }"
	cases := map[string]struct{ text, want string }{
		"a component beside named servers":   {"server \"a\" {\n listen = \":1\"\n " + text + "\n}\n" + text, "site.hcl:5,1-5: Component outside of the servers; The servers of this file have names"},
		"an attribute beside them":           {"x = 1\nserver \"a\" {\n listen = \":1\"\n " + text + "\n}", "site.hcl:1,1-2: Unexpected attribute"},
		"one with and one without a name":    {"server \"a\" {\n listen = \":1\"\n " + text + "\n}\nserver {}", "site.hcl:5,1-7: Server without a name"},
		"a component in one without a name":  {"server {\n " + text + "\n}", "site.hcl:2,2-6: Component inside server; A server without a name has its pipeline beside it: put text outside"},
		"two names":                          {"server \"a\" \"b\" {}", "site.hcl:1,12-15: Too many labels"},
		"a name that is no name":             {"server \"a b\" {}", "site.hcl:1,8-13: Invalid name"},
		"a name that is empty":               {"server \"\" {}", "site.hcl:1,8-10: Invalid name"},
		"a name twice":                       {"server \"a\" {\n listen = \":1\"\n " + text + "\n}\nserver \"a\" {}", "site.hcl:5,8-11: Second server of this name"},
		"a server without an address":        {"server \"a\" {\n " + text + "\n}", `site.hcl:1,1-7: Missing address; The server "a" has no address`},
		"a server without components":        {"server \"a\" { listen = \":1\" }", "site.hcl:1,1-7: Composition that cannot work; the composition is empty"},
		"an attribute that is not":           {"server \"a\" {\n listn = \":1\"\n " + text + "\n}", "site.hcl:2,2-7: Unsupported argument"},
		"a component that is not":            {"server \"a\" {\n listen = \":1\"\n txt {}\n}", `site.hcl:3,2-5: Unknown component; There is no component "txt"; did you mean "text"?`},
		"a source after a source":            {"server \"a\" {\n listen = \":1\"\n " + text + "\n status { code = 404 }\n}", "site.hcl:4,2-8: Composition that cannot work"},
		"a setting that cannot be":           {"server \"a\" {\n listen = \":1\"\n run = \"fast\"\n " + text + "\n}", "site.hcl:1,1-7: Invalid server; run is"},
		"trusted proxies of another server":  {"server \"a\" {\n listen = \":1\"\n trusted = [\"10.0.0.0/8\"]\n " + text + "\n}\nserver \"b\" {\n listen = \":2\"\n limit_rate {\n  rate = 1\n  header = \"X\"\n }\n " + text + "\n}", `site.hcl:8,2-12: Invalid limit_rate`},
		"a second admin page":                {"server \"a\" {\n listen = \":1\"\n admin = \"127.0.0.1:3\"\n " + text + "\n}\nserver \"b\" {\n listen = \":2\"\n admin = \"127.0.0.1:4\"\n " + text + "\n}", `site.hcl:6,1-7: Second admin page`},
		"an admin page on its own address":   {"server \"a\" {\n listen = \":8001\"\n admin = \"127.0.0.1:8001\"\n " + text + "\n}", `site.hcl:1,1-7: Address used twice`},
		"an admin page on another's address": {"server \"a\" {\n listen = \":8001\"\n admin = \"127.0.0.1:8002\"\n " + text + "\n}\nserver \"b\" {\n listen = \":8002\"\n " + text + "\n}", `site.hcl:6,1-7: Address used twice`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("site.hcl", []byte(c.text), nil)
			if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got  %v, %v\nwant %s", s, err, c.want)
			}
		})
	}
}

func TestTwoServersMayNotListenOnOneAddress(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		clash bool
	}{
		{":443", ":443", true}, {":443", ":80", false}, {":443", "127.0.0.1:443", true}, {"192.0.2.1:443", "0.0.0.0:443", true}, {"[::1]:443", "0.0.0.0:443", false},
		{"127.0.0.1:443", "[::]:443", true}, {"192.0.2.1:443", "192.0.2.2:443", false}, {"127.0.0.1:443", "127.0.0.1:https", true}, {"127.0.0.1:0", "127.0.0.1:0", false},
		{"[::ffff:127.0.0.1]:443", "127.0.0.1:443", true}, {"localhost:443", "localhost:443", true}, {"[::1]:443", "[0:0:0:0:0:0:0:1]:443", true},
	} {
		text := "server \"a\" {\n listen = \"" + c.a + "\"\n status { code = 404 }\n}\nserver \"b\" {\n listen = \"" + c.b + "\"\n status { code = 404 }\n}"
		_, err := Parse("site.hcl", []byte(text), nil)
		if clash := err != nil && strings.Contains(err.Error(), `site.hcl:5,1-7: Address used twice; The servers "a" and "b" would both listen on `+c.b); clash != c.clash || err != nil && !clash {
			t.Errorf("%s and %s: got %v, want an error: %v", c.a, c.b, err, c.clash)
		}
	}
}

func TestAReloadKeepsServersInPlaceWhateverTheirOrderInTheFile(t *testing.T) {
	one, other := `server "a" {`+"\n listen = \":1\"\n"+` text { text = "a" }`+"\n}\n", `server "b" {`+"\n listen = \":2\"\n"+` text { text = "b" }`+"\n}\n"
	l := live(t, "", one+other)
	l.write(t, other+strings.ReplaceAll(one, `"a" }`, `"changed" }`))
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	if a, b := l.answer(t, 0, "/"), l.answer(t, 1, "/"); a != "changed" || b != "b" {
		t.Errorf("after a reload with the servers in another order: got %q and %q, want changed of the first and b of the second", a, b)
	}
	if e := <-l.events; e.Type != "reloaded" {
		t.Errorf("got %+v, want reloaded", e)
	}
}

func TestAChangedSettingNamesItsServer(t *testing.T) {
	l := live(t, "", twoServers)
	l.write(t, strings.ReplaceAll(twoServers, ":443", ":444"))
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	<-l.events
	if e := <-l.events; e.Type != "restart" || !strings.HasPrefix(e.Text, `site: the "server" block has changed`) {
		t.Errorf("got %+v, want a restart event about site", e)
	}
}

func TestAServerMoreOrLessTakesARestart(t *testing.T) {
	l := live(t, "", twoServers)
	for text, want := range map[string]string{
		twoServers + "server \"more\" {\n listen = \":8080\"\n status { code = 404 }\n}": `The server "more" does not run yet: restart the program to add it`,
		"server \"site\" {\n listen = \":443\"\n text { text = \"changed\" }\n}":         `The server "plain" runs, and is not in the file: restart the program to remove it`,
		"text { text = \"changed\" }": `A server without a name does not run yet`,
	} {
		l.write(t, text)
		if err := l.Reload(); err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "more diagnostic") {
			t.Errorf("got %v, want %q", err, want)
		}
		if got := l.answer(t, 1, "/"); got != "hello" {
			t.Errorf("after a rejected reload: got %q, want the running site's hello", got)
		}
	}
}

func TestEqualComponentsOfTwoServersHaveStatesOfTheirOwnAndKeepThem(t *testing.T) {
	server := func(name, port string) string {
		return "server \"" + name + "\" {\n listen = \":" + port + "\"\n limit_rate {\n  rate = 0.001\n  burst = 1\n }\n text { text = \"ok\" }\n}\n"
	}
	l := live(t, "", server("a", "1")+server("b", "2"))
	if a, b := l.answer(t, 0, "/"), l.answer(t, 1, "/"); a != "ok" || b != "ok" {
		t.Errorf("the first request at each server: got %q and %q, want ok twice: a limit counts for its server", a, b)
	}
	l.write(t, "# moved down\n"+server("b", "2")+server("a", "1"))
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	if a, b := l.answer(t, 0, "/"), l.answer(t, 1, "/"); a == "ok" || b == "ok" {
		t.Errorf("after a reload: got %q and %q, want both rejected: the counts are kept", a, b)
	}
}

func TestMetricsOfSeveralServersHaveALabelForTheServer(t *testing.T) {
	both := strings.NewReplacer("redirect {", "metrics {}\n redirect {", "text {", "metrics {}\n text {").Replace(twoServers)
	l := live(t, "", both)
	l.answer(t, 0, "/")
	l.answer(t, 1, "/")
	l.answer(t, 1, "/")
	for _, want := range []string{`weir_http_requests_total{class="3xx",route="",server="plain"} 1`, `weir_http_requests_total{class="2xx",route="",server="site"} 2`, `weir_http_requests_in_flight{server="site"} 0`} {
		webtest.Until(t, "the metrics have "+want, func() bool { return strings.Contains(scrape(t, l.Metrics()), want+"\n") })
	}
	if one := live(t, "", "metrics {}\ntext { text = \"x\" }"); strings.Contains(scrape(t, one.Metrics()), "server=") {
		t.Errorf("the metrics of a server without a name: got a label server, want none:\n%s", scrape(t, one.Metrics()))
	}
}

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("GET /metrics: got %d, %v; want 200", w.Code, err)
	}
	return string(text)
}

func TestTroublesNameTheirServer(t *testing.T) {
	l := live(t, "", "server \"api\" {\n listen = \":1\"\n proxy { upstreams = [\"http://127.0.0.1:1\"] }\n}\n")
	l.answer(t, 0, "/x")
	l.trouble(t, "api: GET example.com/x: answered by 502")
}
