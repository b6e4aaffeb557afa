package chat

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

func TestReportOfRooms(t *testing.T) { reporter.Golden(t, "../../report/testdata/chat", chatRun()) }

func TestAnswersAreShort(t *testing.T) {
	for name, r := range map[string]*result.Results{"chat": chatRun()} {
		reporttest.CheckSentences(t, name, Report{}.Answer(report.NewDigest(r, Report{})).Sentences, 3)
	}
}
