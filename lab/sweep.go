package lab

import (
	"fmt"
	"strconv"

	"weir/lab/workload"
)

// A sweep offers a load several times, with another value of one of its settings each time. Each
// value is a load of its own, and its results name the load that was varied.

// SweepRates replaces the loads that have a rate by one for each of these rates, in messages a
// second over all connections, and leaves out closed loops. If no load has a rate, the first gets
// them. Without rates nothing is changed.
func (e *Experiment) SweepRates(rates []float64) {
	if len(rates) == 0 || len(e.Loads) == 0 {
		return
	}
	var open, swept []workload.Load
	for _, l := range e.Loads {
		if l.Shared().Rate != 0 || l.Shared().TotalRate != 0 {
			open = append(open, l)
		}
	}
	if open == nil {
		open = e.Loads[:1]
	}
	for _, l := range open {
		for _, rate := range rates {
			name := strconv.FormatFloat(rate, 'f', -1, 64) + "/s"
			if len(open) > 1 {
				name = l.Shared().Name + ", " + name
			}
			one := variant(l, name)
			one.Shared().Rate, one.Shared().TotalRate = 0, rate
			swept = append(swept, one)
		}
	}
	e.Loads = swept
}

// Sweep replaces each load by one for each of these values of a setting. The unit of the values
// names the loads. A single value only changes the setting, and none changes nothing. It is an
// error if the workload's loads have no such setting.
func (e *Experiment) Sweep(key string, values []int, unit string) error {
	switch len(values) {
	case 0:
		return nil
	case 1:
		return e.SetLoads(key, values[0])
	}
	var swept []workload.Load
	for _, l := range e.Loads {
		for _, value := range values {
			one := variant(l, fmt.Sprintf("%s, %d %s", l.Shared().Name, value, unit))
			if err := e.set(one, key, value); err != nil {
				return err
			}
			swept = append(swept, one)
		}
	}
	e.Loads = swept
	return nil
}

// variant returns a copy of a load that is one of a sweep.
func variant(l workload.Load, name string) workload.Load {
	one := l.Clone()
	shared := one.Shared()
	workload.SetDefault(&shared.SweepOf, shared.Name)
	shared.Name = name
	return one
}

// expandRates replaces total rates by rates per connection. A load that meets several numbers of
// connections becomes one for each.
func (e *Experiment) expandRates() {
	var all []workload.Load
	for _, l := range e.Loads {
		total, counts := l.Shared().TotalRate, e.connectionsOf(l)
		if total == 0 || l.Shared().Rate != 0 || len(counts) == 0 {
			all = append(all, l)
			continue
		}
		for _, n := range counts {
			one := l
			if len(counts) > 1 {
				one = variant(l, fmt.Sprintf("%s on %d", l.Shared().Name, n))
				one.Shared().Connections = []int{n}
			}
			one.Shared().Rate, one.Shared().TotalRate = total/float64(max(n, 1)), 0
			all = append(all, one)
		}
	}
	e.Loads = all
}
