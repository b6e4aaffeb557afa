// Package chat is the workload of deliveries to the members of chat rooms, by IRC.
//
// # Limitations
//
// All members are on this machine.
package chat

import (
	"context"
	"encoding/json"
	"strconv"

	"weir/lab/contract"
	"weir/lab/report"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/chat/chatload"
)

// Workload is the workload chat.
type Workload struct{}

// Traits implements workload.Workload.
func (Workload) Traits() workload.Traits {
	return workload.Traits{GeneratorCores: 1, MaxKnee: func(int) float64 { return chatload.MaxRate }}
}

// Report implements workload.Workload.
func (Workload) Report() report.Kind { return Report{} }

// Contract implements workload.Workload.
func (Workload) Contract() contract.Kind { return Contract }

// Open implements workload.Workload.
func (Workload) Open(_ context.Context, s *workload.Site, _ []workload.Load) (workload.Session, error) {
	return session{workload.Servers{Site: s}}, nil
}

type session struct{ workload.Servers }

// Start implements workload.Session.
func (v session) Start(ctx context.Context, s *subject.Subject, l workload.Load) (*workload.Running, error) {
	return v.StartServer(ctx, s, subject.Params{Size: l.(*Load).Size})
}

// Args implements workload.Session.
func (session) Args(l workload.Load, c workload.Cell, to workload.Target) []string {
	of := l.(*Load)
	args := []string{"chat", "--steer", "--members", strconv.Itoa(c.Connections), "--size", strconv.Itoa(of.Size), "--idle", strconv.Itoa(of.Idle)}
	if of.Rate > 0 {
		args = append(args, "--rate", strconv.FormatFloat(of.Rate*float64(c.Connections), 'f', -1, 64))
	}
	if of.Replay > 0 {
		args = append(args, "--replay", strconv.Itoa(of.Replay))
	}
	if of.Caps != "" {
		args = append(args, "--caps", of.Caps)
	}
	return append(args, to.Addr)
}

// Fill implements workload.Session. For a load with a replay, the latency is the time of the
// replay, from the request for the history to its last message.
func (session) Fill(t *result.Trial, _ workload.Load, m workload.Measured) error {
	var report struct {
		ReplayUS result.Percentiles `json:"replay_us"`
	}
	err := json.Unmarshal(m.Report, &report)
	workload.FillClosed(t)
	if report.ReplayUS != (result.Percentiles{}) {
		t.LatencyUS = report.ReplayUS
	}
	return err
}

// Failures implements workload.Session.
func (session) Failures(t *result.Trial, ev workload.Evidence) (wrong, slow workload.Findings) {
	return workload.MessageFailures(t, ev)
}

// Rejections implements workload.Session.
func (session) Rejections(t *result.Trial, ev workload.Evidence, onTime bool) workload.Findings {
	return append(workload.LoadShort(t, onTime), workload.BoundClosedLoop(t, ev)...)
}
