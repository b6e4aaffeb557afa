package rules

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// subjectWidth is the maximum length of a commit's subject, in characters.
const subjectWidth = 72

// subjectForm matches "area: verb object": areas are folders or files, several joined by commas.
var subjectForm = regexp.MustCompile(`^[A-Za-z0-9_.*/{}-]+(, [A-Za-z0-9_.*/{}-]+)*: ([a-z][a-z-]*) \S`)

// imperatives are verbs that otherForm would take for a third person, a participle or a past tense.
var imperatives = []string{"address", "bring", "compress", "discuss", "embed", "express", "feed", "focus", "need",
	"pass", "process", "progress", "seed", "shed", "speed", "suppress", "bypass", "dismiss", "string"}

// subjectFaults returns the faults of a commit's subject.
func subjectFaults(subject string) []string {
	var faults []string
	if n := utf8.RuneCountInString(subject); n > subjectWidth {
		faults = append(faults, fmt.Sprintf("%q has %d characters, at most %d: put the reason into the body", subject, n, subjectWidth))
	}
	m := subjectForm.FindStringSubmatch(subject)
	if m == nil {
		return append(faults, fmt.Sprintf("%q is not \"area: verb object\"", subject))
	}
	if verb := m[2]; !slices.Contains(imperatives, verb) && otherForm.MatchString(verb) {
		faults = append(faults, fmt.Sprintf("%q: %s is not an imperative: write what applying the commit does", subject, verb))
	}
	return faults
}

// otherForm matches a word that is not an imperative: a third person, a past tense, a participle,
// an article or a pronoun.
var otherForm = regexp.MustCompile(`([^s]s|ed|ing)$|^(a|an|the|it|this|that|there|what|who|each|every|no)$`)

// TestCommitSubjects checks the subjects of all commits after the one that added this file.
func TestCommitSubjects(t *testing.T) {
	git := func(words ...string) []string {
		cmd := exec.Command("git", words...)
		cmd.Dir = root(t)
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("git %s: %v: run this in a clone", words[0], err)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	first := git("log", "--diff-filter=A", "--format=%H", "--", "internal/rules/commits_test.go")
	if first[0] == "" {
		t.Skip("the file is not committed yet")
	}
	for _, subject := range git("log", "--no-merges", "--format=%s", first[len(first)-1]+"..HEAD") {
		if subject != "" {
			report(t, subjectFaults(subject))
		}
	}
}

func TestSubjectsCatchBadExamples(t *testing.T) {
	for subject, want := range map[string]int{
		"tcpip/tcp: validate PTB against acknowledged data":                       0,
		"web, docs: pass the canonical path to components":                        0,
		"c/chatd: limit guesses by address":                                       0,
		"lab/load: counts messages that find the connection full":                 1,
		"chat: fixed the lockout":                                                 1,
		"tcpip: a path that has taken large packets is not believed to take less": 1,
		"Fix bug": 1,
		"serve: " + strings.Repeat("keep ", 14) + "it": 1,
	} {
		if faults := subjectFaults(subject); len(faults) != want {
			t.Errorf("%q: faults %q, want %d", subject, faults, want)
		}
	}
}
