//go:build !webdebug

package web

const debugBuild = false

// ownership is who holds a Conn, which only a debug build follows.
type ownership struct{}

func (ownership) own() {}

// pass hands the Conn on.
func (c *Conn) pass(string) *Conn { return c }
