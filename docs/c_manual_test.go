package docs

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// cPrograms are the C programs with their manual pages: the source of the help text, the page, and
// the place where make -C c install puts it.
var cPrograms = []struct{ source, page, installed string }{
	{"../c/chatd/options.c", "../c/chatd/chatd.8", "/share/man/man8/chatd.8"},
	{"../c/chatc/chatc.c", "../c/chatc/chatc.1", "/share/man/man1/chatc.1"},
}

var (
	cUsage     = regexp.MustCompile(`(?s)usage\[\] =\n(.*?);\n`)
	helpOption = regexp.MustCompile(`(?m)^  (--[a-z-]+)( [^ ]+)?  `)
	synopsis   = regexp.MustCompile(`(?m)^(?:\.Op )?\.?Fl -(\S+)(.*)$`)
	pageOption = regexp.MustCompile(`(?m)^\.It Fl -(\S+)(.*)$`)
	mdocMarks  = regexp.MustCompile(`\b(Ar|Ns|Op)\b|[ \[\]]`)
	helpValue  = regexp.MustCompile(`default\s+([A-Za-z0-9.:]*[A-Za-z0-9])\)`)
)

// cHelp returns the text of --help.
func cHelp(t *testing.T, source string) string {
	t.Helper()
	data, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	m := cUsage.FindSubmatch(data)
	if m == nil {
		t.Fatalf("%s: got no usage text, want one that --help prints", source)
	}
	var help strings.Builder
	for line := range strings.Lines(string(m[1])) {
		text, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: usage text: got %v, want a C string that Go can unquote in %q", source, err, line)
		}
		help.WriteString(text)
	}
	return help.String()
}

// options returns the options that a pattern finds, with their arguments in lower case.
func options(pattern *regexp.Regexp, text string) (all []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		argument := mdocMarks.ReplaceAllString(m[2], "")
		all = append(all, strings.ToLower("--"+strings.TrimPrefix(m[1], "--")+" "+argument))
	}
	return all
}

func TestManualPagesOfCProgramsHaveTheOptionsOfTheHelp(t *testing.T) {
	for _, p := range cPrograms {
		help := cHelp(t, p.source)
		data, err := os.ReadFile(p.page)
		if err != nil {
			t.Fatal(err)
		}
		page := string(data)
		want := options(helpOption, strings.ReplaceAll(strings.ReplaceAll(help, "[", ""), "]", ""))
		if len(want) == 0 {
			t.Errorf("%s: got no option in the help, want at least one", p.source)
		}
		if got := options(pageOption, page); !slices.Equal(got, want) {
			t.Errorf("%s: got the options\n%q\nwant those of --help\n%q", p.page, got, want)
		}
		if got := options(synopsis, page); !slices.Equal(got, want) {
			t.Errorf("%s: got the synopsis\n%q\nwant the options of --help\n%q", p.page, got, want)
		}
		for _, m := range helpValue.FindAllStringSubmatch(help, -1) {
			if !strings.Contains(page, m[1]) {
				t.Errorf("%s: got no default %s, want the default that --help states", p.page, m[1])
			}
		}
	}
}

func TestMakeInstallsTheManualPagesOfCPrograms(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip(err)
	}
	plan, err := exec.Command("make", "-n", "-C", "../c", "install", "DESTDIR=/stage", "PREFIX=/usr").CombinedOutput()
	if err != nil {
		t.Fatalf("make -n install: got %v, want it to succeed:\n%s", err, plan)
	}
	for _, p := range cPrograms {
		if want := "/stage/usr" + p.installed; !strings.Contains(string(plan), want) {
			t.Errorf("make -C c install does not install %s", want)
		}
	}
}
