package serve

// hasQueuedOutput is waitsFor for a connection of a loop.
func hasQueuedOutput(c Conn) bool { return c.(*conn).outbox.nonEmpty.Load() }
