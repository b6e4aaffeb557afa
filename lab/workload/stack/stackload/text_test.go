package stackload

import (
	"strings"
	"testing"

	"weir/lab/internal/tally"
	"weir/lab/load"
	"weir/lab/result"
)

func TestReportIsWrittenAsText(t *testing.T) {
	times := tally.Times{Min: 9, Mean: 20.5, Median: 16, P99: 1500, P999: 2e6, Max: 3e6}
	for _, c := range []struct {
		report Report
		want   []string
	}{
		{Report{Operation: Ping, Address: "10.77.0.2", Flows: 1000, Rate: 10000, Size: 56, Together: true, Lost: 2, Unstamped: 1, OperationUS: times,
			Report: load.Report{OfferedRate: 100, Offered: 100, Messages: 98, LatenessUS: result.Percentiles{P50: 20}, CPUNS: 5e8, WindowNS: 1e9}},
			[]string{"ping 10.77.0.2: 1000 flows, 10000 pings/s of 56 bytes, all flows at once\n", "100.0 pings/s for 1 s: 100, of which 98 were answered, 2 lost\n", "1 without a time stamp", "lateness     p1 0.0 us, p50 20.0 us",
				"mean 20.5 us, min 9.0 us, median 16.0 us, p99 1.500 ms, p99.9 2.00 s, max 3.00 s\n", "0.500 of a core", "errors       none\n"}},
		{Report{Operation: Ping, Processes: 30, Rate: 30, Size: 56, Lost: 1, ChildrenCPUNS: 1e6, Report: load.Report{Messages: 10, WindowNS: 1e9}},
			[]string{"30 processes of ping, 30 pings/s", "10 in 1.000 s, lost 1\n", "100.0 us of CPU for each ping"}},
		{Report{Operation: In, Address: "10.77.0.2:9", Connections: 10, Congestion: "cubic", GbitS: 40, Confirmed: 9, SegmentsOut: 7, SegmentsIn: 6, Retransmitted: 5,
			Report: load.Report{Messages: 1000, Bytes: 5e9, CPUNS: 1e9, WindowNS: 1e9, Interrupt: true, Errors: map[string]int64{"lost": 1}, Details: []string{"connection 3"}}},
			[]string{"10 connections, cubic (interrupted)\n", "5.000 GB in 1.000 s: 40.00 Gbit/s\n", "9 of 10 connections", "7 out, of which 5 again; 6 in\n", "1000.00 us for each 64 KiB", "errors       lost (1)\n", "connection 3\n"}},
		{Report{Operation: Connect, Report: load.Report{Messages: 2000, MessageRate: 1000, CPUNS: 1e9, WindowNS: 2e9}, Notes: []string{"TIME-WAIT"}},
			[]string{"2000 in 2.000 s: 1000/s\n", "500.00 us for each operation", "note         TIME-WAIT\n"}},
		{Report{Operation: Idle, Connections: 10, Report: load.Report{Messages: 9, WindowNS: 2e9}}, []string{"held         9 of 10 connections for 2.000 s\n"}},
		{Report{Operation: Idle}, []string{"0.000 of a core"}},
	} {
		var b strings.Builder
		if err := c.report.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: want %q in\n%s", c.report.Operation, want, &b)
			}
		}
	}
}
