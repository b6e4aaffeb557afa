//go:build !unix

package origin

// isQuiet reports whether an idle connection may be used, as far as that can be known.
func (c *Conn) isQuiet() bool { return c.triesQuiet() }
