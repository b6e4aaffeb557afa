package flow

import "runtime/debug"

// A panic loses the item in hand and no other. A guard (a deferred recover) costs more than a
// stage, so a single item that Chain sends on gets none: the stages before it have nothing else in
// hand. The guard at the start of their path unwinds all of them.
//
// A Goexit is a panic of the item in hand, too. The goroutine ends. Before it does, each guard on
// its stack finishes the remaining work of its stage. Another goroutine replaces a worker.

// runGuarded runs the stage on a batch, and after a panic again on the remaining items. It times
// the batch if it is sampled.
func (o *Out[T]) runGuarded(batch []T) {
	if clock := &o.owner.clock; clock.on {
		o.counters[stageSampled] += uint64(len(batch))
		defer clock.charge(clock.charge(o.counters))
	}
	for len(batch) > 0 {
		batch = o.callGuarded(batch)
	}
}

// callGuarded runs the stage until it returns or panics.
func (o *Out[T]) callGuarded(batch []T) (rest []T) {
	defer func() {
		if o.inHand != nil { // calling recover each time would cost more than the rest of the call
			rest = o.afterPanic(recover())
		}
	}()
	o.call(batch)
	return nil
}

// afterPanic handles the end of the stage's call by the panic v, or by a Goexit, for which v is
// nil. After a Goexit no caller receives the result.
func (o *Out[T]) afterPanic(v any) (rest []T) {
	if v != nil {
		return o.unwind(&PanicError{Value: v, Stack: debug.Stack()})
	}
	o.runGuarded(o.unwind(&PanicError{Value: ErrGoexit, Stack: debug.Stack()}))
	return nil
}

// unwind ends the calls of the stage and of the later stages that it was calling. Items that they
// had in hand and had not sent on are lost. It returns the remaining items of the stage: those
// after the item in hand of an Each.
func (o *Out[T]) unwind(why *PanicError) (rest []T) {
	for _, p := range o.ports {
		if p.nextStage != nil && p.nextStage.inHand != nil {
			p.nextStage.unwind(why)
		}
	}
	if why.Stage == "" { // the innermost stage
		why.Stage = o.node.Name
	}
	first, end := min(o.sentOn, len(o.inHand)), len(o.inHand)
	if o.eachIndex >= 0 {
		first, end = o.eachIndex+min(o.sentOn, 1), o.eachIndex+1
	}
	o.counters[stageFailed] += uint64(end - first)
	o.owner.net.fail(o.inHand[first:end], why)
	rest = o.inHand[end:]
	o.inHand, o.eachIndex = nil, -1
	o.flush()
	return rest
}
