package stream

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"weir/lab/report"
	"weir/lab/report/format"
	"weir/lab/report/reporttest"
	"weir/lab/result"
)

// TestTooFewWindowsGiveNoFigure checks that a short run says so in place of its variation.
func TestTooFewWindowsGiveNoFigure(t *testing.T) {
	r := reporttest.Quick()
	r.Trials = slices.DeleteFunc(r.Trials, func(t result.Trial) bool { return t.Block > 0 })
	for i := range r.Trials {
		r.Trials[i].Samples = r.Trials[i].Samples[:21] // two windows in each of two trials
	}
	r.Comparisons = Report{}.Compare().All(r)
	d := newDigest(r)
	if got := strings.Join(d.Answer().Sentences, " "); !strings.Contains(got, "too short to tell: there are at most 2 degrees of freedom, and 8 are needed") {
		t.Errorf("got the answer %q, want one that the run is too short", got)
	}
	if c := d.Groups[0].Cells[0]; c.FormatCV() != "too short (2)" || c.CV.Known() {
		t.Errorf("got %q in a cell, want too short (2)", c.FormatCV())
	}
	if v, _ := d.Versus(result.MetricCV, d.Groups[0], "go-goroutine", "c-fork"); pairVerdict(v, "varied") != "too short to tell" || report.RatioOf(v) != format.Absent {
		t.Errorf("got %q and %q for the pair, want too short to tell and no ratio", pairVerdict(v, "varied"), report.RatioOf(v))
	}
	if strings.Contains(markdownOf(t, r), "ratios-cpu-cv") {
		t.Error("got a figure of the ratios of the variation, want none")
	}
}

// markdownOf returns the report of r as Markdown.
func markdownOf(t *testing.T, r *result.Results) string {
	t.Helper()
	dir := t.TempDir()
	if err := report.Write(dir, r, Report{}); err != nil {
		t.Fatal(err)
	}
	markdown, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(markdown)
}

// TestTheAnswerIsAtMostThreeShortSentences checks the answers of all runs.
func TestTheAnswerIsAtMostThreeShortSentences(t *testing.T) {
	for name, r := range map[string]*result.Results{"full": reporttest.Full(), "quick": reporttest.Quick(), "published": reporttest.Published()} {
		reporttest.CheckSentences(t, name, Report{}.Answer(report.NewDigest(r, Report{})).Sentences, 3)
	}
}

// TestASaturationRunHasAnAnswer checks the Markdown and the terminal.
func TestASaturationRunHasAnAnswer(t *testing.T) {
	r := reporttest.Saturated()
	var screen bytes.Buffer
	report.Terminal(&screen, r, Report{}, false, 200)
	for form, text := range map[string]string{"Markdown": markdownOf(t, r), "terminal": screen.String()} {
		text = strings.Join(strings.Fields(text), " ") // lines are broken
		for _, want := range []string{
			"c-epoll at least 90,000 (limit of the load generator)", "c-fork 61,000 to 63,400", "go-goroutine 60,000 to 62,400",
			"did not measurably grow for c-epoll and c-fork", "grew for go-goroutine", "reached its limit before c-epoll did",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: got no %q", form, want)
			}
		}
		if strings.Contains(text, "No trial was run") {
			t.Errorf("%s: got \"No trial was run\"", form)
		}
	}
}

func TestShortConnectionsAreDescribed(t *testing.T) {
	got := Report{}.Describe(result.Load{Name: "churn", Size: 100, Churn: 200, Idle: 1000})
	if want := "200 short connections/s of one message of 100 bytes, 1,000 connections idle"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
