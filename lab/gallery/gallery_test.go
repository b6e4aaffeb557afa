package gallery

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"weir/internal/chromium"
	"weir/lab/report"
	"weir/lab/report/reporttest"
	"weir/lab/result"
	"weir/lab/workload/stream"
)

var update = flag.Bool("update", false, "write the golden files")

func kindOf(string) report.Kind { return stream.Workload{}.Report() }

// threeRuns returns runs of two machines and two versions.
func threeRuns() []Run {
	var runs []Run
	for i, name := range []string{"runs/laptop", "runs/laptop-new", "runs/server"} {
		r := reporttest.Quick()
		r.Machine.Weir = fmt.Sprintf("v0.%d.0", i)
		r.Started = r.Started.Add(time.Duration(i) * 24 * time.Hour)
		if name == "runs/server" {
			r.Machine.CPU, r.Machine.Cores, r.Machine.Kernel = "Server CPU 3.4 GHz", 32, "Linux 6.12.0"
			for j := range r.Trials {
				r.Trials[j].CPUUSPerMessage /= 2
			}
		}
		for j := range r.Subjects {
			if r.Subjects[j].Language == "Go" {
				r.Subjects[j].Version = fmt.Sprintf("go1.26.%d", 7+i)
			}
		}
		runs = append(runs, Run{name, r})
	}
	return runs
}

func TestAGalleryIsTheGoldenFile(t *testing.T) {
	got := New(threeRuns(), nil, kindOf).Markdown()
	file := filepath.Join("testdata", "three.md")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the Markdown differs from %s; if that is intended, run go test -update\n%s", file, got)
	}
}

func TestMachinesAreListedOnce(t *testing.T) {
	g := New(threeRuns(), nil, kindOf)
	if len(g.Machines) != 2 || g.Columns[0].Machine != "M1" || g.Columns[1].Machine != "M1" || g.Columns[2].Machine != "M2" {
		t.Errorf("got the machines %v and the runs %v, want M1 twice and M2", g.Machines, g.Columns)
	}
}

func TestFiguresOfARowAreOfItsCell(t *testing.T) {
	g := New(threeRuns(), nil, kindOf)
	for _, r := range g.Tables[0].Rows {
		a, c := r.Figures[0], r.Figures[2]
		if !a.Known || a.Interval == "" || !c.Known || a.Mean < 1.99*c.Mean || a.Mean > 2.01*c.Mean {
			t.Errorf("%s, %s: got %v and %v, want the second to be half of the first", r.Subject, r.Pattern, a, c)
		}
	}
}

func TestAnotherLoadOfTheSameNameIsLeftOut(t *testing.T) {
	runs := threeRuns()
	runs[1].Results.Plan.Loads = []result.Load{{Name: "messages", Rate: 125, Size: 64}}
	g := New(runs, nil, kindOf)
	want := `runs/laptop-new is left out: its load "messages" (125 messages/s of 64 bytes per connection) is another one than that of runs/laptop (125 messages/s of 1,000 bytes per connection): rename one of them, or make two galleries`
	if len(g.Problems) != 1 || g.Problems[0] != want {
		t.Errorf("got the problems %q, want %q", g.Problems, want)
	}
	if len(g.Columns) != 2 || len(g.Loads) != 1 {
		t.Errorf("got the runs %v and the loads %v, want the two other runs", g.Columns, g.Loads)
	}
}

// A setting that the description of a load does not name is named by all settings.
func TestLoadsThatDifferInASmallSettingAreNamed(t *testing.T) {
	runs := threeRuns()[:2]
	runs[1].Results.Plan.Loads = []result.Load{{Name: "messages", Rate: 125, Size: 1000, Requests: result.Requests{Filters: 3}}}
	g := New(runs, nil, kindOf)
	if len(g.Problems) != 1 || !strings.Contains(g.Problems[0], `"filters":3`) {
		t.Errorf("got the problems %q, want one that names 3 filters", g.Problems)
	}
}

func TestAnEqualNameInAnotherWorkloadIsAnotherLoad(t *testing.T) {
	runs := threeRuns()[:2]
	runs[1].Results.Plan.Workload = "echo"
	runs[1].Results.Plan.Loads = []result.Load{{Name: "messages", Rate: 1, Size: 64}}
	if g := New(runs, nil, kindOf); len(g.Problems) > 0 || len(g.Loads) != 2 {
		t.Errorf("got the problems %q and the loads %v, want none and two", g.Problems, g.Loads)
	}
}

func TestUnreadableRunsGiveOneErrorEach(t *testing.T) {
	root := t.TempDir()
	save := func(name string, r *result.Results) {
		if err := result.Write(mkdir(t, root, name), r); err != nil {
			t.Fatal(err)
		}
	}
	save("good", reporttest.Quick())
	newer := reporttest.Quick()
	newer.Version = result.Version + 1
	save("newer", newer)
	save("empty", &result.Results{Version: result.Version})
	if err := os.WriteFile(filepath.Join(mkdir(t, root, "broken"), result.File), []byte(`{"version":`), 0o644); err != nil {
		t.Fatal(err)
	}
	runs, problems := Read([]string{root, filepath.Join(root, "good"), filepath.Join(root, "none")})
	if len(runs) != 1 || runs[0].Dir != filepath.ToSlash(filepath.Join(root, "good")) {
		t.Errorf("got %d runs, want the good one, once", len(runs))
	}
	want := []string{"broken/results.json is damaged", "empty has no trial", "newer/results.json has schema version 2", "none contains no finished run"}
	if len(problems) != len(want) {
		t.Fatalf("got the problems %q, want %d", problems, len(want))
	}
	for i, p := range problems {
		if !strings.Contains(p.Error(), want[i]) {
			t.Errorf("got %q, want one that says %q", p, want[i])
		}
	}
}

func mkdir(t *testing.T, root, name string) string {
	t.Helper()
	dir := filepath.Join(root, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestThePageFiltersAndSortsOffline(t *testing.T) {
	text, err := New(threeRuns(), nil, kindOf).HTML()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "gallery.html")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	p := chromium.Open(t)
	p.Size(1200, 900, false)
	p.Go("file://" + file)
	const table = `document.querySelector("table.figures-of")`
	p.Until(`document.querySelector("#shown").textContent.endsWith(" rows")`)
	first := table + `.tBodies[0].rows[0].cells[4].dataset.v`
	p.Until(`(` + table + `.tHead.rows[0].cells[4].querySelector("button").focus(), true)`)
	p.Press("Enter") // the lowest figure of the first run
	p.Until(`[...` + table + `.tBodies[0].rows].every(r => Number(r.cells[4].dataset.v) >= Number(` + first + `))`)
	p.Press("Enter") // the highest
	p.Until(`[...` + table + `.tBodies[0].rows].every(r => Number(r.cells[4].dataset.v) <= Number(` + first + `))`)
	p.Until(table + `.tHead.rows[0].cells[4].getAttribute("aria-sort") == "descending"`)
	p.Until(`(document.querySelector("#subject").focus(), true)`)
	p.Write("epoll")
	p.Until(`[...` + table + `.tBodies[0].rows].every(r => r.hidden != r.cells[0].textContent.includes("epoll"))`)
	p.Until(`(document.querySelector(".run[data-run='1']").click(), true)`)
	p.Until(`[...document.querySelectorAll(".figures-of [data-run='1']")].every(c => c.hidden)`)
	p.Size(390, 844, true)
	p.Until(`document.documentElement.scrollWidth <= 390`)
	if errs, fetched := p.Errors(), p.Fetched(); len(errs) > 0 || len(fetched) > 1 {
		t.Errorf("got the errors %q, and requests for %q; want none, and the page only", errs, fetched)
	}
}

// hostile returns two runs with a name everywhere where a file has one.
func hostile(name string) []Run {
	runs := threeRuns()[:2]
	r := runs[1].Results
	r.Experiment, r.Machine.CPU, r.Machine.Kernel, r.Machine.Weir = name, name, name, name
	r.Subjects[0].Name, r.Subjects[0].Version = name, name
	r.Plan.Loads[0].Name = name
	for i := range r.Trials {
		r.Trials[i].Load = name
		if t := &r.Trials[i]; t.Subject == "c-fork" {
			t.Subject, t.Pattern = name, name
		}
	}
	runs[1].Dir = name
	return runs
}

func FuzzNamesAreEscaped(f *testing.F) {
	for _, name := range []string{"plain", `</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "<!--", "a\n| b | c |\n# d", "\x00\xff\u202e", "`x` *y* [z](javascript:0)"} {
		f.Add(name)
	}
	elements, lines := shapeOf(f, "plain")
	f.Fuzz(func(t *testing.T, name string) {
		for _, special := range []string{"messages", "c-epoll", "c-splice", "go-goroutine", "staggered", "together", "poisson", "+twin"} {
			if strings.Contains(strings.TrimSpace(name), special) {
				t.Skip("the name joins rows")
			}
		}
		gotElements, gotLines := shapeOf(t, name)
		if gotElements != elements || gotLines != lines {
			t.Errorf("%q: got the elements\n%s\nand %d lines of Markdown, want\n%s\nand %d", name, gotElements, gotLines, elements, lines)
		}
	})
}

// shapeOf returns how often the gallery's page has each element, without those that are left out if
// a text is empty, and the number of lines of its Markdown.
func shapeOf(t testing.TB, name string) (elements string, lines int) {
	t.Helper()
	g := New(hostile(name), nil, kindOf)
	text, err := g.HTML()
	if err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for n := range root.Descendants() {
		if n.Type == html.CommentNode || n.Type == html.ElementNode && n.Data != "small" {
			counts[map[bool]string{true: "comment", false: n.Data}[n.Type == html.CommentNode]]++
		}
	}
	all, err := json.Marshal(counts)
	if err != nil {
		t.Fatal(err)
	}
	return string(all), bytes.Count(g.Markdown(), []byte("\n"))
}

// TestATableHasAtMostSoManyFigures: a browser cannot show millions.
func TestATableHasAtMostSoManyFigures(t *testing.T) {
	const columns, subjects = 50, MaxCells/50 + 10
	r := &result.Results{}
	for i := range subjects {
		r.Trials = append(r.Trials, result.Trial{Subject: fmt.Sprint(i), Accepted: true, CPUUSPerMessage: 1})
	}
	runs := []Run{{"large", r}}
	for i := range columns - 1 {
		runs = append(runs, Run{fmt.Sprint(i), &result.Results{}})
	}
	if table := New(runs, nil, kindOf).Tables[0]; len(table.Rows) != MaxCells/columns || table.Omitted != 10 {
		t.Errorf("got %d rows, %d of them left out, want %d and 10", len(table.Rows), table.Omitted, MaxCells/columns)
	}
}

// FuzzResultsOfOthersAreShown: whatever numbers and texts a file has, there is a page.
func FuzzResultsOfOthersAreShown(f *testing.F) {
	quick := reporttest.Quick()
	quick.Trials, quick.Comparisons = quick.Trials[:4], nil
	text, err := json.Marshal(quick)
	if err != nil {
		f.Fatal(err)
	}
	for _, from := range []string{`"cpu_us_per_message":`, `"connections":`, `"memory_mb":`, `"cores":`, `"block":`, `"duration_s":`, `"p99":`} {
		at := strings.Index(string(text), from) + len(from)
		end := at + strings.IndexAny(string(text[at:]), ",}")
		for _, number := range []string{"1e308", "-1e308", "5e-324", "9223372036854775807", "-9223372036854775808", "0"} {
			f.Add(slices.Concat(text[:at], []byte(number), text[end:]))
		}
	}
	f.Add(text)
	f.Add([]byte(`{"version":1,"trials":[{}]}`))
	f.Add([]byte(`{"version":1,"trials":[{"accepted":true,"subject":"+twin","cpu_us_per_message":1,"samples":[{},{}]}],"plan":{"loads":[{}],"duration_s":-1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r result.Results
		if json.Unmarshal(text, &r) != nil {
			t.Skip("no results")
		}
		g := New([]Run{{"a", &r}, {"b", reporttest.Quick()}}, nil, kindOf)
		page, err := g.HTML()
		if err != nil {
			t.Fatal(err)
		}
		if all := string(page) + string(g.Markdown()); strings.Contains(all, "NaN") || strings.Contains(all, "+Inf") {
			t.Error("got NaN or infinity on the page, want a dash")
		}
	})
}
