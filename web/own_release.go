//go:build !webdebug

package web

const debugBuild = false

// ownership detects misuse of a Conn in builds with the tag webdebug only.
type ownership struct{}

func (ownership) assertOwned() {}

// handOver returns c: only a debug build makes a new Conn.
func (c *Conn) handOver(string) *Conn { return c }
