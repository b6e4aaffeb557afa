package tcp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Forged Packet Too Big messages at any time of a search, of any size that the stack accepts and in
// any order with their ends, stop no connection, and lower the MSS to the least at most. When they
// have ended, the search finds what the path takes.
func TestForgedPTBsDoNotStopASearch(t *testing.T) {
	const linkSize = 1460 + 20 // with the TCP header
	for seed := range uint64(12) {
		for _, mode := range []MTUProbing{ProbeOnBlackHole, ProbeAlways, ProbeNever} {
			for _, superframe := range []int{0, 65000} {
				t.Run(fmt.Sprint(seed, mode, superframe), func(t *testing.T) {
					s, chance := newSim(t, seed), rand.New(rand.NewPCG(seed, 3))
					s.loss, s.largest = 0.01*float64(seed%3), []int{0, 1300}[seed%2]
					if mode == ProbeNever {
						s.largest = 0 // it would be lost in a black hole
					}
					a, b := s.connectToSend(Config{MTUProbing: mode, Superframe: superframe}, 1<<20)
					limit := linkSize
					s.run(10*time.Minute, func() bool {
						if a.State() == Established && chance.IntN(20) == 0 {
							// a third of the times the path MTU expires
							if limit = linkSize; chance.IntN(3) > 0 {
								limit = 532 + chance.IntN(linkSize-532)
							}
							a.LimitSegments(s.now, limit)
							a.Output(s.now, s.emit(0))
						}
						if a.State() == Established && (a.mss < minSearchMSS || a.mss > limit-20) {
							t.Fatalf("got an MSS of %d with a limit of %d, want %d to %d", a.mss, limit, minSearchMSS, limit-20)
						}
						return b.received.Len() == len(a.send) && a.flight.empty()
					})
					a.LimitSegments(s.now, linkSize)
					s.now, a.send = s.now.Add(searchInterval), append(a.send, random(1<<20, 2)...)
					s.app(a)
					a.Output(s.now, s.emit(0))
					s.run(10*time.Minute, func() bool { return b.received.Len() == len(a.send) })
					want := 1460
					if s.largest > 0 {
						want = s.largest
					}
					// there may not have been enough data for all probes
					searches := a.search != nil && a.search.restartAt == 0
					if !bytes.Equal(b.received.Bytes(), a.send) || a.mss > want || a.mss <= want-minSearchRange && s.loss == 0 && !searches {
						t.Errorf("after the end of the forged messages: got an MSS of %d, want %d or a few less", a.mss, want)
					}
				})
			}
		}
	}
}
