package serve

// stuck is waitsFor on a loop.
func stuck(c Conn) bool { return c.(*conn).out.waiting.Load() }
