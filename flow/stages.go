package flow

// Each is the Do of a stage that takes its items one by one. If it panics, only the item in hand is
// lost.
func Each[T any](f func(item T, out *Out[T])) func([]T, *Out[T]) {
	return func(in []T, out *Out[T]) {
		for i, item := range in {
			out.at, out.moved = i, 0
			f(item, out)
		}
		out.at, out.moved = -1, len(in)
	}
}

// Branch is the Do of a stage that sends each item to the port that choose names; by -1, which is
// none, it leaves the net.
func Branch[T any](choose func(T) int) func([]T, *Out[T]) {
	return Each(func(item T, out *Out[T]) { out.Send(choose(item), item) })
}

// Merge is the Do of a stage into which several edges lead and that hands everything on by port 0.
func Merge[T any]() func([]T, *Out[T]) {
	return func(in []T, out *Out[T]) { out.Pass(0, in) }
}

// Broadcast is the Do of a stage that sends each item to ports 0 to n-1. The receivers share the
// item: it must not be changed behind a Broadcast.
func Broadcast[T any](n int) func([]T, *Out[T]) {
	return Each(func(item T, out *Out[T]) {
		for port := range n {
			out.Send(port, item)
		}
	})
}
