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

// golden compares the report of r with its golden files.
func golden(t *testing.T, name string, r *result.Results) {
	t.Helper()
	reporttest.Reporter{
		Write: func(dir string, r *result.Results) error { return report.Write(dir, r, Report{}) },
		Terminal: func(w io.Writer, r *result.Results, colour bool, width int) {
			report.Terminal(w, r, Report{}, colour, width)
		},
		Update: *update,
	}.Golden(t, "../../report/testdata/"+name, r)
}

func TestReportsOfStreams(t *testing.T) {
	for name, run := range map[string]*result.Results{"full": reporttest.Full(), "quick": reporttest.Quick(), "published": reporttest.Published(),
		"saturation": reporttest.Saturated(), "empty": {Version: result.Version}} {
		golden(t, name, run)
	}
}
