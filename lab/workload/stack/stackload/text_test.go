package stackload

import (
	"strings"
	"testing"

	"weir/lab/internal/tally"
	"weir/lab/result"
)

func TestReportIsWrittenAsText(t *testing.T) {
	times := tally.Times{Min: 9, Mean: 20.5, Median: 16, P99: 1500, P999: 2e6, Max: 3e6}
	for _, c := range []struct {
		report Report
		want   []string
	}{
		{Report{Operation: Ping, Address: "10.77.0.2", Flows: 1000, Rate: 10000, Size: 56, Together: true, Offered: 100, Messages: 98, Lost: 2, Unstamped: 1, OperationUS: times,
			LatenessUS: result.Percentiles{P50: 20}, CPUNS: 5e8, WindowNS: 1e9},
			[]string{"ping 10.77.0.2: 1000 flows, 10000 pings/s of 56 bytes, all flows at once\n", "98 of 100 in 1.000 s, lost 2\n", "1 without a time stamp", "of the sender: p50 20.0 us",
				"mean 20.5 us, min 9.0 us, median 16.0 us, p99 1.50 ms, p99.9 2.00 s, max 3.00 s\n", "0.500 of a core", "errors       none\n"}},
		{Report{Operation: Ping, Processes: 30, Rate: 30, Size: 56, Messages: 10, Lost: 1, ChildrenCPUNS: 1e6, WindowNS: 1e9},
			[]string{"30 processes of ping, 30 pings/s", "10 in 1.000 s, lost 1\n", "the pings 100.0 us each"}},
		{Report{Operation: In, Address: "10.77.0.2:9", Connections: 10, Congestion: "cubic", Messages: 1, Bytes: 5e9, GbitS: 40, Confirmed: 9, SegmentsOut: 7, SegmentsIn: 6, Retransmitted: 5,
			CPUNS: 1e9, WindowNS: 1e9, Interrupt: true, Errors: map[string]int64{"lost": 1}, Details: []string{"connection 3"}},
			[]string{"10 connections, cubic (interrupted)\n", "5.000 GB in 1.000 s: 40.00 Gbit/s\n", "9 of 10 connections", "7 out, of which 5 again; 6 in\n", "0.200 s for each GB", "errors       lost (1)\n", "connection 3\n"}},
		{Report{Operation: Connect, Messages: 2000, MessageRate: 1000, CPUNS: 1e9, WindowNS: 2e9, Notes: []string{"TIME-WAIT"}},
			[]string{"2000 in 2.000 s: 1000/s\n", "500.0 us each", "note         TIME-WAIT\n"}},
		{Report{Operation: Idle, Connections: 10, Messages: 9, WindowNS: 2e9}, []string{"held         9 of 10 connections for 2.000 s\n"}},
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
