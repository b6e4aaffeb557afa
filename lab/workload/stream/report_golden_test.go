package stream

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

func TestReportsOfStreams(t *testing.T) {
	for name, run := range map[string]*result.Results{"full": reporttest.Full(), "quick": reporttest.Quick(), "published": reporttest.Published(),
		"saturation": reporttest.Saturated(), "empty": {Version: result.Version}} {
		reporter.Golden(t, "../../report/testdata/"+name, run)
	}
}
