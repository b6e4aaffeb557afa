package cluster

import (
	"bufio"
	"context"
	"os"
	"time"
)

// injectFaults does what the file says at its times.
func (r *cluster) injectFaults(ctx context.Context) {
	began := time.Now()
	for _, x := range r.f.Faults {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(began.Add(x.after))):
		}
		r.cfg.Line("weir | " + x.after.String() + ": " + x.String())
		r.inject(x)
	}
}

func (r *cluster) inject(x FaultFile) {
	if x.Partition != nil {
		for _, a := range x.Partition[0] {
			for _, b := range x.Partition[1] {
				r.net.Partition(r.nodes[a], r.nodes[b], x.OneWay)
			}
		}
	}
	if x.Heal {
		r.net.HealAll()
	}
	if x.Kill != "" {
		r.programs[x.Kill].Kill() //nolint:errcheck // it has ended
	}
}

// outputOf returns a file whose lines are output of a host.
func (r *cluster) outputOf(host string) (*os.File, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r.output.Go(func() { // until all that the program has started have ended
		defer in.Close()
		lines := bufio.NewReaderSize(in, 64<<10) // longer lines come in pieces
		for {
			text, _, err := lines.ReadLine()
			if err != nil {
				return
			}
			r.line(host, string(text))
		}
	})
	return out, nil
}
