package flow

// Each returns the Do of a stage that handles its items one by one. A panic loses only the item in
// hand.
func Each[T any](f func(item T, out *Out[T])) func([]T, *Out[T]) {
	return func(in []T, out *Out[T]) {
		for i, item := range in {
			out.eachIndex, out.sentOn = i, 0
			f(item, out)
		}
		out.eachIndex, out.sentOn = -1, len(in)
	}
}

// Branch returns the Do of a stage that sends each item to the port that choose returns; with -1
// the item leaves the net.
func Branch[T any](choose func(T) int) func([]T, *Out[T]) {
	return Each(func(item T, out *Out[T]) { out.Send(choose(item), item) })
}

// Merge returns the Do of a stage that several edges lead to and that sends everything on by port
// 0.
func Merge[T any]() func([]T, *Out[T]) {
	return func(in []T, out *Out[T]) { out.Pass(0, in) }
}

// Broadcast returns the Do of a stage that sends each item to ports 0 to n-1. The receivers share
// the item: later stages must not change it.
func Broadcast[T any](n int) func([]T, *Out[T]) {
	return Each(func(item T, out *Out[T]) {
		for port := range n {
			out.Send(port, item)
		}
	})
}
