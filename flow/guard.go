package flow

import "runtime/debug"

// A panic costs the item in hand and no other. A guard costs more than a stage, so that a single
// item handed on by Chain gets none: the stages before it have nothing else in hand. The guard
// where their path began takes all of them out of their calls.
//
// A Goexit is a panic of the item in hand too. The goroutine ends: before it does, each guard that
// it passes has what its stage has yet to do done, and another goroutine takes a worker's place.

// guarded runs the stage on a batch, and after a panic again on what is left to do. It times the
// batch if it is to be timed.
func (o *Out[T]) guarded(batch []T) {
	if clock := &o.owner.clock; clock.on {
		o.count[sampled] += uint64(len(batch))
		defer clock.charge(clock.charge(o.count))
	}
	for len(batch) > 0 {
		batch = o.guard(batch)
	}
}

// guard runs the stage until it is done, or panics.
func (o *Out[T]) guard(batch []T) (rest []T) {
	defer func() {
		if o.batch != nil { // asking recover each time would cost more than the rest of the call
			rest = o.died(recover())
		}
	}()
	o.call(batch)
	return nil
}

// died deals with the end of the stage's call by the panic v, or by a Goexit, which is nil: nobody
// will take what it returns then.
func (o *Out[T]) died(v any) (rest []T) {
	if v != nil {
		return o.collapse(&PanicError{Value: v, Stack: debug.Stack()})
	}
	o.guarded(o.collapse(&PanicError{Value: ErrGoexit, Stack: debug.Stack()}))
	return nil
}

// collapse takes the stage, and those behind it that it was calling, out of their calls. What they
// had in hand and not handed on is lost. It returns what the stage has yet to do: what follows an
// Each's item.
func (o *Out[T]) collapse(why *PanicError) (rest []T) {
	for _, p := range o.ports {
		if p.next != nil && p.next.batch != nil {
			p.next.collapse(why)
		}
	}
	if why.Stage == "" { // the innermost
		why.Stage = o.node.Name
	}
	first, end := min(o.moved, len(o.batch)), len(o.batch)
	if o.at >= 0 {
		first, end = o.at+min(o.moved, 1), o.at+1
	}
	o.count[failed] += uint64(end - first)
	o.owner.net.fail(o.batch[first:end], why)
	rest = o.batch[end:]
	o.batch, o.at = nil, -1
	o.flush()
	return rest
}
