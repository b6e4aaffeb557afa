package serve

import "time"

// post has the loop call c.driver.posted. Any goroutine.
func (l *loop) post(c *conn) {
	if c.posted.Swap(true) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posts = append(l.posts, c)
	l.poller.wake()
}

// askToStop may be called from any goroutine.
func (l *loop) askToStop(move bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop, l.move = true, move
	l.poller.wake()
}

// collect takes what others asked for.
func (l *loop) collect() {
	l.mu.Lock()
	l.letters, l.posts = append(l.letters, l.posts...), l.posts[:0]
	l.comers, l.arrivals = append(l.comers, l.arrivals...), l.arrivals[:0]
	l.asked, l.moving = l.stop, l.move
	l.mu.Unlock()
}

// runPosts handles what others asked for.
func (l *loop) runPosts() {
	for len(l.comers) > 0 {
		a := l.comers[0]
		l.comers = l.comers[1:]
		l.begin(a.fd, a.remote, nil)
	}
	var now time.Time
	for l.told < len(l.letters) {
		c := l.letters[l.told]
		l.told++
		c.posted.Store(false)
		if c.ended {
			continue
		}
		if now.IsZero() {
			now = time.Now()
		}
		l.call(c)
		if c.unwanted.Load() {
			c.driver.end(ErrClosed)
		} else {
			c.driver.woken(now)
		}
	}
	clear(l.letters)
	l.letters, l.told = l.letters[:0], 0
}
