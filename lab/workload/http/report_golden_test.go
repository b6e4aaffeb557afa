package http

import (
	"flag"
	"io"
	"testing"

	"weir/lab/report"
	"weir/lab/report/reporttest"
	"weir/lab/result"
)

var update = flag.Bool("update", false, "write the golden files")

// reporter writes reports of this kind.
var reporter = reporttest.Reporter{
	Update: update,
	Write:  func(dir string, r *result.Results) error { return report.Write(dir, r, Report{}) },
	Terminal: func(w io.Writer, r *result.Results, colour bool, width int) {
		report.Terminal(w, r, Report{}, colour, width)
	},
}

func TestReportsOfRequests(t *testing.T) {
	reporter.Golden(t, "../../report/testdata/web", webRun())
	reporter.Golden(t, "../../report/testdata/pipes", pipesRun())
}

func TestAnswersAreShort(t *testing.T) {
	for name, r := range map[string]*result.Results{"web": webRun(), "pipes": pipesRun()} {
		reporttest.CheckSentences(t, name, Report{}.Answer(report.NewDigest(r, Report{})).Sentences, 5)
	}
}
