package lab

import (
	"testing"

	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/workload"
)

func TestTheLimitOfATrialIsNamed(t *testing.T) {
	// 64 connections, 1,000 messages of 64 ms: all of them are with the subject all the time
	closed := result.Trial{Pattern: result.Closed, Connections: 64, Messages: 1000, WindowS: 1, LatencyMeanUS: 64_000, CPUPercentMean: 50, LoadUSPerMsg: 100}
	open := result.Trial{Pattern: load.Staggered, Connections: 64, Messages: 1000, WindowS: 1, OfferedRate: 1000, AchievedRatio: 1, CPUPercentMean: 50, LoadUSPerMsg: 100}
	for _, test := range []struct {
		name   string
		trial  result.Trial
		change func(*result.Trial, *workload.Evidence)
		want   string
	}{
		{"open loop, all done on time", open, func(*result.Trial, *workload.Evidence) {}, result.LimitSchedule},
		{"open loop, all done, the subject busy", open, func(x *result.Trial, _ *workload.Evidence) { x.CPUPercentMean = 95 }, result.LimitSchedule},
		{"open loop, half of it answered, the subject busy", open, func(x *result.Trial, _ *workload.Evidence) { x.Messages, x.CPUPercentMean = 500, 99 }, result.LimitServerCPU},
		{"open loop, connections full, the subject idle", open, func(x *result.Trial, _ *workload.Evidence) { x.Behind = 500 }, result.LimitServerWaits},
		{"open loop, half of it sent, the generator busy", open, func(x *result.Trial, _ *workload.Evidence) {
			x.Messages, x.AchievedRatio, x.LoadUSPerMsg = 500, 0.5, 1900
		}, result.LimitGenerator},
		{"closed loop, streams of HTTP/2 are with the generator", closed, func(x *result.Trial, _ *workload.Evidence) { x.HTTP = &result.HTTP{Streams: 10} }, result.LimitGenerator},
		{"closed loop, the subject busy", closed, func(x *result.Trial, _ *workload.Evidence) { x.CPUPercentMean = 99 }, result.LimitServerCPU},
		{"closed loop, the subject waits for cores", closed, func(x *result.Trial, _ *workload.Evidence) { x.RunQueueRatio = 0.4 }, result.LimitServerCPU},
		{"closed loop, the subject sleeps", closed, func(*result.Trial, *workload.Evidence) {}, result.LimitServerWaits},
		{"closed loop, connections are with the generator (Little's law)", closed, func(x *result.Trial, _ *workload.Evidence) { x.LatencyMeanUS = 6400 }, result.LimitGenerator},
		{"closed loop, the generator busy", closed, func(x *result.Trial, _ *workload.Evidence) { x.LoadUSPerMsg = 950 }, result.LimitGenerator},
		{"closed loop, both busy on the same cores", closed, func(x *result.Trial, ev *workload.Evidence) {
			x.CPUPercentMean, x.LoadUSPerMsg, ev.SharedCores = 95, 950, true
		}, result.LimitSharedCores},
		{"closed loop, the subject runs elsewhere", closed, func(x *result.Trial, ev *workload.Evidence) { x.CPUPercentMean, ev.Cores = 0, 0 }, result.LimitElsewhere},
		{"no messages", closed, func(x *result.Trial, _ *workload.Evidence) { x.Messages = 0 }, ""},
	} {
		trial, ev := test.trial, workload.Evidence{Cores: 1}
		test.change(&trial, &ev)
		if got := limitOf(&trial, ev); got != test.want {
			t.Errorf("%s: got the limit %q, want %q", test.name, got, test.want)
		}
	}
}
