package lab

import (
	"weir/lab/report"
	"weir/lab/workload/chat"
	"weir/lab/workload/http"
	"weir/lab/workload/stack"
	"weir/lab/workload/stream"
)

// ReportKind returns the kind of reports on a workload: that of streams for an unknown one.
func ReportKind(workload string) report.Kind {
	switch workload {
	case "page", "files", "proxy":
		return http.Report{}
	case "chat":
		return chat.Report{}
	case "stack":
		return stack.Report{}
	}
	return stream.Report{}
}
