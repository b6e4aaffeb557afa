package rules

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var codeSpan = regexp.MustCompile("`[^`]*`")

// markdownFaults returns the faults of a page's prose, and the retired words in its tables. It does
// not check code, headings and images.
func markdownFaults(name, text string) []string {
	var faults []string
	var paragraph []string
	start, fenced := 0, false
	flush := func() {
		prose := codeSpan.ReplaceAllString(strings.Join(paragraph, " "), "`x`")
		faults = append(faults, textFaults(fmt.Sprintf("%s:%d", name, start), prose)...)
		paragraph = nil
	}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
			flush()
		case fenced:
		case trimmed == "", strings.HasPrefix(trimmed, "#"), strings.HasPrefix(trimmed, "!["):
			flush()
		case strings.HasPrefix(trimmed, "|"):
			flush()
			faults = append(faults, retiredWordFaults(fmt.Sprintf("%s:%d", name, i+1), codeSpan.ReplaceAllString(line, "`x`"))...)
		default:
			if len(paragraph) == 0 || strings.HasPrefix(trimmed, "- ") {
				flush()
				start = i + 1
			}
			paragraph = append(paragraph, strings.TrimPrefix(trimmed, "- "))
			faults = append(faults, widthFault(fmt.Sprintf("%s:%d", name, i+1), line, line)...)
		}
	}
	flush()
	return faults
}

var slashComment = regexp.MustCompile(`(?m)(?:^|[ \t;{(])(//.*$)|(?s:(/\*.*?\*/))`)

// slashFaults returns the faults of comments in C, JavaScript and CSS.
func slashFaults(name, text string) []string {
	var faults []string
	lines := strings.Split(text, "\n")
	var run []string // comments that start with two slashes, on consecutive lines
	first, last := 0, -1
	flush := func() {
		faults = append(faults, textFaults(fmt.Sprintf("%s:%d", name, first), strings.Join(run, " "))...)
		run = nil
	}
	for _, m := range slashComment.FindAllStringSubmatchIndex(text, -1) {
		from, to := m[2], m[3]
		if from < 0 {
			from, to = m[4], m[5]
		}
		at := 1 + strings.Count(text[:from], "\n")
		comment := strings.Split(text[from:to], "\n")
		if at != last+1 {
			flush()
			first = at
		}
		for i, c := range comment {
			faults = append(faults, widthFault(fmt.Sprintf("%s:%d", name, at+i), lines[at+i-1], c)...)
			run = append(run, strings.Trim(c, "/* \t"))
		}
		last = at + len(comment) - 1
	}
	flush()
	return faults
}

func TestTheLanguageRulesCatchBadExamples(t *testing.T) {
	for text, want := range map[string]int{
		"Nobody is told.":                               2,
		"What was said is kept. It is in the log.":      1,
		"What was said?":                                0,
		"The log stores what was said.":                 0,
		"Who waits is woken: the queue has room.":       1,
		"flush reports whether the buffer was written.": 0,
	} {
		if faults := textFaults("x", text); len(faults) != want {
			t.Errorf("%q: faults %q, want %d", text, faults, want)
		}
	}
}

func TestTheLanguageRulesReadEveryKindOfSource(t *testing.T) {
	wide := strings.Repeat("wide ", 25)
	for _, c := range []struct {
		kind string
		got  []string
		want int
	}{
		{"Markdown", markdownFaults("x.md", "# Whoever\n\nWhat is left\nis told.\n\n```\nnobody\n```\n"+wide), 3},
		{"a Markdown table", markdownFaults("x.md", "| `told` | nobody |"), 1},
		{"C", slashFaults("x.c", "/* What is\n * left. */\nint x; // "+wide+"\nputs(\"http://nobody\");\n"), 2},
		{"a bool function", docFaults(parse(t, "x.go", "package x\n\n// f is true for a.\nfunc f() bool { return true }\n")), 1},
		{"a locked function", docFaults(parse(t, "x.go", "package x\n\n// f adds. The caller holds mu.\nfunc f() {}\n")), 1},
		{"names", identifierFaults(parse(t, "x.go", "package x\n\ntype seat struct{ toldAt, wide int }\n\nfunc f(isTwin bool) {}\n")), 2},
		{"messages", literalFaults(parse(t, "x.go", "package x\n\nvar a, b = \"told\", \"nobody is there\"\n")), 1},
	} {
		if len(c.got) != c.want {
			t.Errorf("%s: faults %q, want %d", c.kind, c.got, c.want)
		}
	}
}
