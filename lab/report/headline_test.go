package report

import (
	"slices"
	"strings"
	"testing"

	"weir/lab/report/reporttest"
	"weir/lab/result"
)

func TestHeadlineIsSaidInPlainWords(t *testing.T) {
	own := result.Headline{A: "a", B: "b", Metric: result.MetricCPU, Load: "messages", Connections: 64, Pattern: "staggered", PlannedBlocks: 6}
	with := func(change func(*result.Headline)) *result.Headline {
		h := own
		change(&h)
		return &h
	}
	for _, c := range []struct {
		name     string
		headline *result.Headline
		want     string
	}{
		{"different", with(func(h *result.Headline) {
			h.Verdict, h.Ratio, h.Low, h.High, h.Blocks, h.Looks = result.Different, 1.6, 1.4, 1.8, 4, 2
		}), "Headline: a used 1.60 times as much CPU per message as b (1.40 to 1.80). It was tested first and alone, with the load messages on 64 connections, staggered: decided at look 2, after 4 of 6 planned blocks."},
		{"equivalent", with(func(h *result.Headline) {
			h.Verdict, h.Ratio, h.Low, h.High, h.Blocks, h.Looks = result.Equivalent, 1, 0.97, 1.03, 6, 4
		}), "Headline: a and b used the same CPU per message within 5 % (ratio 0.97 to 1.03). It was tested first and alone, with the load messages on 64 connections, staggered: decided at look 4, after 6 of 6 planned blocks."},
		{"undecided", with(func(h *result.Headline) {
			h.Verdict, h.Ratio, h.Low, h.High, h.Blocks, h.Looks = result.Undecided, 1.1, 0.9, 1.3, 6, 4
		}), "Headline: it is undecided whether a and b used the same CPU per message (ratio 0.90 to 1.30). It was tested first and alone, with the load messages on 64 connections, staggered: undecided at look 4, after 6 of 6 planned blocks; a longer --time allows more."},
		{"too few blocks", with(func(h *result.Headline) { h.Verdict, h.Ratio, h.Blocks = result.Undecided, 1.1, 2 }),
			"Headline: it is undecided whether a and b used the same CPU per message: 2 blocks with accepted trials of both are too few. It was tested first and alone, with the load messages on 64 connections, staggered: undecided after 2 of 6 planned blocks; a longer --time allows more."},
		{"one look", with(func(h *result.Headline) {
			h.PlannedBlocks, h.Verdict, h.Metric, h.Ratio, h.Low, h.High, h.Blocks, h.Looks = 0, result.Different, result.MetricRate, 2, 1.5, 2.5, 10, 1
		}), "Headline: a did 2.00 times as many messages per second as b (1.50 to 2.50). It was tested first and alone, with the load messages on 64 connections, staggered, once, in 10 blocks."},
		{"none", nil, ""},
	} {
		r := reporttest.TwoSubjects(result.Different)
		r.Headline, r.Plan.Margin = c.headline, 0.05
		said := digestOf(r).headlineSentences()
		if got := strings.Join(said, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if len(said) > 0 {
			reporttest.CheckSentences(t, c.name, said, 2)
		}
	}
}

// TestHeadlineWithoutAcceptedTrialsSaysWhose: more time does not help then.
func TestHeadlineWithoutAcceptedTrialsSaysWhose(t *testing.T) {
	r := reporttest.TwoSubjects(result.Different)
	r.Headline = &result.Headline{A: "a", B: "b", Metric: result.MetricCPU, Load: "messages", Connections: 64, Pattern: "staggered", PlannedBlocks: 6, Verdict: result.Undecided}
	r.Trials = append(r.Trials, result.Trial{Subject: "a", Block: result.FirstHeadlineBlock, Accepted: true}, result.Trial{Subject: "b", Block: result.FirstHeadlineBlock, FailedBecause: []string{"wrong byte"}})
	if got, want := strings.Join(digestOf(r).headlineSentences(), " "), "undecided after 0 of 6 planned blocks; no trial of b in them was accepted."; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want it to end with %q", got, want)
	}
}

// TestHeadlineStandsBeforeTheOtherVerdicts in every format.
func TestHeadlineStandsBeforeTheOtherVerdicts(t *testing.T) {
	r := reporttest.Quick()
	rendered, err := Render(r, plain{})
	if err != nil {
		t.Fatal(err)
	}
	var terminal, text strings.Builder
	Terminal(&terminal, r, plain{}, false, 100)
	if err := Text(&text, r, plain{}, 100); err != nil {
		t.Fatal(err)
	}
	for name, said := range map[string]string{"page": string(rendered.Page), "Markdown": string(rendered.Markdown), "LaTeX": string(rendered.TeX), "terminal": terminal.String(), "tables": text.String()} {
		headline, other := strings.Index(said, "c-fork"), strings.Index(said, "c-splice")
		if first := strings.Index(strings.ToLower(said), "headline"); first < 0 || headline < first || other >= 0 && other < headline {
			t.Errorf("%s: got the headline at %d, its subject at %d and another at %d, want them in this order", name, first, headline, other)
		}
	}
	if c := r.Comparisons[0]; c.A != r.Headline.A || c.B != r.Headline.B || c.Verdict != r.Headline.Verdict {
		t.Errorf("got the first comparison %+v, want the headline", c)
	}
}

func TestHeadlineThatIsAnotherOneIsACaveat(t *testing.T) {
	r := reporttest.Quick()
	r.Headline.Instead, r.Headline.ControlLow, r.Headline.ControlHigh = "x against y: x does not take part", 1.1, 1.2
	caveats := digestOf(r).answer().Caveats
	for _, want := range []string{
		"The headline of the experiment was not tested (x against y: x does not take part). That of this run is c-fork against go-goroutine.",
		"In the headline's blocks a subject differs from itself (the A/A control: ratio 1.10 to 1.20). Repeat the run before you rely on its verdict.",
	} {
		if !slices.Contains(caveats, want) {
			t.Errorf("got the caveats %q, want among them %q", caveats, want)
		}
	}
}

// TestRunThatHasOnlyTheHeadlineHasAReport: it was interrupted before the blocks of all subjects.
func TestRunThatHasOnlyTheHeadlineHasAReport(t *testing.T) {
	r := reporttest.Quick()
	r.Trials = slices.DeleteFunc(r.Trials, func(t result.Trial) bool { return !t.OfHeadline() })
	r.Comparisons = plain{}.Compare().All(r)
	if len(digestOf(r).Groups) != 1 || len(r.Comparisons) != 1 {
		t.Errorf("got %d groups and %d comparisons, want the headline's", len(digestOf(r).Groups), len(r.Comparisons))
	}
	if _, err := Render(r, plain{}); err != nil {
		t.Error(err)
	}
}
