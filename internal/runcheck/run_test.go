package runcheck

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRun checks the directory named by WEIR_RUN.
func TestRun(t *testing.T) {
	dir := os.Getenv("WEIR_RUN")
	if dir == "" {
		t.Skip("there is no run to check: set WEIR_RUN to the directory of one")
	}
	for _, fault := range faults(read(t, dir, "results.json")) {
		t.Errorf("results.json: got the fault %q, want none", fault)
	}
	t.Run("report.html works offline", func(t *testing.T) { checkHTML(t, read(t, dir, "report.html")) })
	t.Run("trials.csv has rows of equal length", func(t *testing.T) {
		rows, err := csv.NewReader(bytes.NewReader(read(t, dir, "trials.csv"))).ReadAll()
		if err != nil || len(rows) < 2 {
			t.Errorf("%d rows, error %v; want a head, a trial and no error", len(rows), err)
		}
	})
	t.Run("bench.txt is a Go benchmark file", func(t *testing.T) {
		if !regexp.MustCompile(`(?m)^Benchmark\S+\s+\d+\s+\S+ \S+`).Match(read(t, dir, "bench.txt")) {
			t.Error("bench.txt: got no line of a benchmark result, want some")
		}
	})
	read(t, dir, "report.md")
	read(t, dir, "table.tex")
	for _, kind := range []string{"svg", "pdf"} {
		if figures, _ := filepath.Glob(filepath.Join(dir, "figures", "*."+kind)); len(figures) == 0 {
			t.Errorf("figures: got no %s, want some", kind)
		}
	}
}

// read returns a file of the run, which must not be empty.
func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || len(text) == 0 {
		t.Fatalf("%s: %d bytes, error %v; want some and none", name, len(text), err)
	}
	return text
}

// fetches finds resources that a browser would load from other hosts. A link that a reader may
// follow is not one.
var fetches = regexp.MustCompile(`(?i)<(script|img|iframe|source|image)\b[^>]*\b(src|href)=["']?(https?:|//)|<link\b[^>]*href=["']?(https?:|//)|@import|url\(["']?(https?:|//)`)

func checkHTML(t *testing.T, text []byte) {
	if found := fetches.Find(text); found != nil {
		t.Errorf("report.html: got %q, want no resource of another host", found)
	}
	if !bytes.Contains(text, []byte("</html>")) {
		t.Error("report.html: got no </html>, want the whole file")
	}
}

func TestFaultsAreFound(t *testing.T) {
	good := `{"trials":[{"subject":"c-epoll","connections":64,"pattern":"poisson","cpu_percent_mean":5,"cpu_cv":0.1,"cpu_us_per_message":6,"achieved_ratio":1,
		"lateness_us":{"p50":5,"p99":9,"p999":20},"accepted":true,"refused_because":null}],
		"comparisons":[{"a":"c-epoll","b":"c-fork","metric":"cpu_cv","ratio":0.8,"low":0.7,"high":0.9,"verdict":"different"}]}`
	if all := faults([]byte(good)); len(all) != 0 {
		t.Errorf("a good file: faults %q, want none", all)
	}
	failed := strings.Replace(good, `"accepted":true,"refused_because":null`, `"accepted":false,"refused_because":[],"failed_because":["wrong byte"]`, 1)
	if all := strings.Join(faults([]byte(failed)), "; "); strings.Contains(all, "reason") {
		t.Errorf("a trial in which the subject failed: got faults %q, want none about a missing reason", all)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"a renamed field", `"cpu_cv":0.1`, `"cpu_cov":0.1`, "missing"},
		{"a missing percentile", `"p999":20`, `"p99.9":20`, "lateness_us"},
		{"nothing accepted", `"accepted":true,"refused_because":null`, `"accepted":false,"refused_because":["late"]`, "no trial was accepted"},
		{"a refusal without a reason", `"accepted":true`, `"accepted":false`, "without a reason"},
		{"a load that was not offered", `"achieved_ratio":1`, `"achieved_ratio":0.5`, "0.500"},
		{"percentiles out of order", `"p50":5`, `"p50":50`, "order"},
		{"a verdict that does not exist", `"different"`, `"faster"`, "verdict"},
		{"a ratio outside its interval", `"low":0.7`, `"low":0.85`, "interval"},
		{"a verdict without an interval", `"low":0.7,"high":0.9`, `"low":0,"high":0`, "without an interval"},
		{"no comparisons", `"comparisons"`, `"compared"`, "no comparisons"},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if all := strings.Join(faults([]byte(bad)), "; "); !strings.Contains(all, c.want) {
			t.Errorf("%s: faults %q, want %q among them", c.name, all, c.want)
		}
	}
}

func TestHTMLThatLoadsFromElsewhereIsFound(t *testing.T) {
	for text, bad := range map[string]bool{
		`<script src="https://example.org/x.js"></script>`:    true,
		`<link rel=stylesheet href="//example.org/x.css">`:    true,
		`<style>@import "x.css"</style>`:                      true,
		`<a href="https://example.org">more</a>`:              false,
		`<svg xmlns="http://www.w3.org/2000/svg"></svg>`:      false,
		`<img src="data:image/png;base64,AAAA" alt="a dot">`:  false,
		`<div style="background:url(https://example.org/x)">`: true,
	} {
		if found := fetches.MatchString(text); found != bad {
			t.Errorf("%s: found %v, want %v", text, found, bad)
		}
	}
}
