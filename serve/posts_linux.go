package serve

import "time"

// post makes the loop call the connection's onPost. Any goroutine may call it.
func (l *loop) post(c *conn) {
	if c.posted.Swap(true) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posts = append(l.posts, c)
	l.poller.wake()
}

// requestStop may be called from any goroutine.
func (l *loop) requestStop(move bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopPosted, l.handoverPosted = true, move
	l.poller.wake()
}

// collect takes over the requests of other goroutines.
func (l *loop) collect() {
	l.mu.Lock()
	l.postBatch, l.posts = append(l.postBatch, l.posts...), l.posts[:0]
	l.newConns, l.givenConns = append(l.newConns, l.givenConns...), l.givenConns[:0]
	l.stopRequested, l.handingOver = l.stopPosted, l.handoverPosted
	l.mu.Unlock()
}

// runPosts handles the requests of other goroutines.
func (l *loop) runPosts() {
	for len(l.newConns) > 0 {
		a := l.newConns[0]
		l.newConns = l.newConns[1:]
		l.open(a.fd, a.remote, nil)
	}
	var now time.Time
	for l.postsHandled < len(l.postBatch) {
		c := l.postBatch[l.postsHandled]
		l.postsHandled++
		c.posted.Store(false)
		if c.state != connServing {
			continue
		}
		if now.IsZero() {
			now = time.Now()
		}
		l.noteCall(c)
		if c.closeRequested.Load() {
			c.driver.end(ErrClosed)
		} else {
			c.driver.onPost(now)
		}
	}
	clear(l.postBatch)
	l.postBatch, l.postsHandled = l.postBatch[:0], 0
}
