package basic

import (
	"io"

	"weir/web"
)

// Pass is a pipe that does nothing. It serves to measure the cost of one component.
func Pass() web.Component { return named("pass", web.Pipe(func(*web.Conn) {})) }

// PassPiped is a filter that copies the body through an [io.Pipe] in a goroutine of its own. It
// serves to measure the cost of a filter in the style of the paper.
func PassPiped() web.Component {
	transform := web.Piped(func(w io.Writer, r io.Reader) error {
		_, err := io.Copy(w, r)
		return err
	})
	return named("pass_piped", web.Filter(func(*web.Conn) web.Transform { return transform }))
}
