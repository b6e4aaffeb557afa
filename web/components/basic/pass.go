package basic

import (
	"io"

	"weir/web"
)

// Pass is a pipe that does nothing: it is there to measure what a component costs that has nothing
// to do.
func Pass() web.Component { return named("pass", web.Pipe(func(*web.Conn) {})) }

// PassPiped is a filter that copies the body through an [io.Pipe] in a goroutine of its own: it is
// there to measure what a filter in the style of the paper costs that has nothing to do.
func PassPiped() web.Component {
	transform := web.Piped(func(w io.Writer, r io.Reader) error {
		_, err := io.Copy(w, r)
		return err
	})
	return named("pass_piped", web.Filter(func(*web.Conn) web.Transform { return transform }))
}
