package stream

import (
	"weir/lab/contract"
	"weir/lab/subject"
)

// Contract is the contract of servers of byte streams, the workloads sink and echo.
//
// Every byte that a client sends is output once and in order (on standard output for sink, on the
// connection for echo), however the messages are cut into writes. A half-close, a reset, a slow or
// a waiting connection does not affect other connections. SIGTERM loses no data that had arrived
// and leaves no process behind.
//
// The proof is in the bytes. The high half of each byte is the number of its connection, of which
// there are sixteen. The low half follows a fixed sequence that never repeats within a check. Bytes
// that are lost, doubled, reordered, changed or on the wrong connection are therefore detected at
// the first of them, and the error says which fault it was and where.
var Contract = contract.Kind{
	Workloads: []string{"sink", "echo"},
	Prepare:   func(b *contract.Bench) { b.State = &bench{b} },
	Output:    expectAmounts(nil),
	OwnFlags:  []string{"--listen {addr}", "--workload {workload}"},
	Checks: []contract.Check{
		{Name: "integrity", Run: contract.On(integrity)},
		{Name: "half-close", Run: contract.On(halfClose)},
		{Name: "single bytes", Run: contract.On(singleBytes)},
		{Name: "reset", Run: contract.On(reset)},
		{Name: "200 connections", Run: contract.On(manyConnections)},
		{Name: "slow reader", Workload: "echo", Run: contract.On(slowReader)},
		{Name: "work", Needs: "{work_us}", Full: true, Params: subject.Params{Size: 100, WorkUS: workUS}, Run: contract.On(work)},
		{Name: "waiting", Needs: "{wait_ms}", Full: true, Params: subject.Params{Size: 100, WaitMS: waitMS}, Run: contract.On(waiting)},
		{Name: "SIGTERM while busy", Full: true, Params: subject.Params{Size: 1000, WorkUS: 200}, Run: contract.On(terminate)},
		{Name: "SIGTERM while waiting", Needs: "{wait_ms}", Full: true, Params: subject.Params{Size: 2000, WaitMS: 5000}, Run: contract.On(terminate)},
		{Name: "SIGINT", Full: true, Own: true, Run: contract.On(interrupt)},
		contract.BadFlags,
		contract.PortInUse,
	},
}

// bench is one server of streams under a check.
type bench struct{ *contract.Bench }

// echoes reports whether the server echoes its input, instead of printing it.
func (b *bench) echoes() bool { return b.Params.Workload == "echo" }
