package flow

import (
	"context"
	"fmt"
	"runtime"
	"testing"
)

// The limits: a stage of a chain costs at most 5 ns more than a direct call. A hop of a network
// costs at most 8 ns an item in batches of 64, and at most 1.1 times a bare buffered channel
// unbatched. The cost of a stage is the slope over the number of stages.

// benchNet runs a line of stages.
func benchNet(b *testing.B, way Way, stages, capacity int, do func([]int, *Out[int])) (put func([]int), finish func()) {
	var list []Stage[int]
	var edges []Edge
	from := Entry
	for i := range stages {
		name := fmt.Sprintf("s%d", i)
		list = append(list, Stage[int]{Name: name, Do: do})
		edges = append(edges, Edge{From: from, To: name, Cap: capacity})
		from = name
	}
	n, err := New(list, edges, nil, 0)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1) // Run's result -> finish
	go func() { ended <- n.Run(ctx, way) }()
	for n.Snapshot().Way == "" { // until it runs
		runtime.Gosched()
	}
	return func(batch []int) { n.Put(batch) }, func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

func benchLine(b *testing.B, way Way, size int, do func([]int, *Out[int])) {
	for _, stages := range []int{1, 3, 8} {
		b.Run(fmt.Sprintf("batch=%d/stages=%d", size, stages), func(b *testing.B) {
			put, finish := benchNet(b, way, stages, 16, do)
			batch := make([]int, size)
			b.ResetTimer()
			for i := 0; i < b.N; i += size {
				put(batch)
			}
			finish()
		})
	}
}

func BenchmarkChain(b *testing.B) {
	benchLine(b, Chain, 1, Merge[int]())
}

func BenchmarkChainEach(b *testing.B) {
	benchLine(b, Chain, 64, Each(func(i int, out *Out[int]) { out.Send(0, i) }))
}

func BenchmarkNetwork(b *testing.B) {
	benchLine(b, Network, 64, Each(func(i int, out *Out[int]) { out.Send(0, i) }))
	benchLine(b, Network, 1, Merge[int]())
}

func BenchmarkNetworkPass(b *testing.B) {
	benchLine(b, Network, 64, Merge[int]())
}

// BenchmarkDirect is the chain without flow.
func BenchmarkDirect(b *testing.B) {
	for _, stages := range []int{1, 3, 8} {
		b.Run(fmt.Sprintf("batch=1/stages=%d", stages), func(b *testing.B) {
			do := func([]int) {}
			for range stages {
				next := do
				do = func(in []int) { next(in) }
			}
			batch := make([]int, 1)
			for range b.N {
				do(batch)
			}
		})
	}
}

// BenchmarkChannel is a network without flow: goroutines joined by channels.
func BenchmarkChannel(b *testing.B) {
	for _, stages := range []int{1, 3, 8} {
		b.Run(fmt.Sprintf("batch=1/stages=%d", stages), func(b *testing.B) {
			first := make(chan []int, 16) // from the benchmark -> the first stage; closed below
			in := first
			done := make(chan struct{}) // closed by the last stage
			for i := range stages {
				// from a stage -> the next; closed by the stage
				from, to := in, make(chan []int, 16)
				last := i == stages-1
				go func() {
					for v := range from {
						if !last {
							to <- v
						}
					}
					close(to)
					if last {
						close(done)
					}
				}()
				in = to
			}
			batch := make([]int, 1)
			b.ResetTimer()
			for range b.N {
				first <- batch
			}
			close(first)
			<-done
		})
	}
}
