package planted

// bug is a known bug, as a change of one place in a file.
type bug struct {
	name     string // of the row of the table
	what     string // what a user would see
	world    string // the worlds that should find it: a key of worlds
	file     string // from the root
	old, new string // old is in the file once
}

var bugs = []bug{
	{"retried order", "a POST is sent to another upstream after a failure: it is carried out twice",
		"web", "web/components/proxy/exchange.go",
		`[]string{"GET", "HEAD",`, `[]string{"POST", "GET", "HEAD",`},
	{"cut response", "the content of a response ends where its upstream died, as if it were complete",
		"web", "web/components/proxy/direct_body.go",
		`			return d.failCopy(err)`, `			d.failCopy(err); return nil`},
	{"no limit", "a request waits for an upstream that does not answer, without a limit",
		"web", "web/components/proxy/direct.go",
		`limit, began := d.p.headTimeout, time.Now()`, `limit, began := time.Duration(0), time.Now()`},
	{"down for ever", "an upstream that has failed its health checks never comes back",
		"web", "web/components/proxy/upstream.go",
		`u.reading.Down, u.contraryChecks = why != nil, 0`, `u.reading.Down, u.contraryChecks = true, 0`},
	{"health ignored", "requests go to an upstream that fails its health checks",
		"web", "web/components/proxy/upstream.go",
		`weights[i] == 0 || u.reading.Down ||`, `weights[i] == 0 ||`},
	{"lost count", "an exchange is not counted as ended when its upstream failed",
		"web", "web/components/proxy/exchange.go",
		`	x.p.pool.give(u, why)`, `	x.p.pool.take(x.hashKey, nil, x.p.weights); x.p.pool.give(u, why)`},

	{"batch sent twice", "messages that are stored together are sent twice",
		"chat", "chat/core/deliver.go",
		`	by.SendAll(d.outgoing)
`, `	by.SendAll(d.outgoing)
	if len(d.conversation.batchPosts) > 1 {
		by.SendAll(d.outgoing)
	}
`},
	{"read in flight", "what was written to a socket counts as received: it is not replayed",
		"chat", "chat/core/catchup.go",
		`!written || condition == ifAcknowledged && !acked`, `!written || condition == ifAcknowledged && !acked && false`},
	{"end counts as received", "what was in flight when the client closed counts as received",
		"chat", "chat/core/session.go",
		`		return acknowledged
`, `		return acknowledged || true
`},
	{"late bytes", "a connection that was given up still delivers: the message is stored twice",
		"chat", "chat/client/link/link.go",
		`		_ = tcp.SetLinger(0)`, `		_ = tcp`},
	{"late bytes of a browser", "so does one that a browser has given up, which cannot reset it",
		"chat", "chat/page/predecessor.go",
		`before != nil {`, `before != nil && false {`},
	{"live before missed", "a live message is shown before those that were missed",
		"chat", "chat/client/message.go",
		`case v.historyRequest == afterRequest || v.historyRequest == latestRequest:`, `case v.historyRequest == latestRequest:`},
	{"one page", "only the first page of what was missed is requested",
		"chat", "chat/client/history.go",
		`if last != "" && last != asked {`, `if last != "" && last != asked && false {`},
	{"lost marker", "a read marker that was lost in flight is not sent again",
		"chat", "chat/client/conversation.go",
		`v.markerChanged || v.markerInFlight, false`, `v.markerChanged, false`},
	{"shared identifiers", "messages of two devices have the same identifier, and one is lost",
		"chat", "chat/client/send.go",
		`c.config.Nonce + "." + strconv`, `c.config.Nonce + strconv`},

	{"unsynced batch", "a message is acknowledged before it is on the disk, and the power fails",
		"chat", "chat/log/append.go",
		`		return l.refuse(l.diskError("stat the last segment", err))
	}
	written`, `		return l.refuse(l.diskError("stat the last segment", err))
	}
	if st.Size > 0 {
		return l.offsets.setCommitted(min(l.offsets.end(), l.activeBase+st.Size))
	}
	written`},
	{"unsynced state", "a file is replaced and acknowledged, and its contents are not on the disk",
		"chat", "internal/durable/replace.go",
		`err == nil && !w.Unsynced {
		err = f.Sync()`, `err == nil && w.Unsynced {
		err = f.Sync()`},
}
