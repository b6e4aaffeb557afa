package planted

// coreBugs are found by the worlds of package chat/core. Those of the second part show only when
// the power fails.
var coreBugs = []bug{
	{"no wait for the delivery", "a client that joins again receives a message twice",
		"core", "chat/core/catchup.go",
		`	// a delivery may be writing to this session, through an earlier subscription
	f.waitDelivered(s.task)`, ``},
	{"live too early", "a live message is shown before older ones, and twice",
		"core", "chat/core/catchup.go",
		`	for f.deliveredOffset > upTo && sub.isWanted() {
		upTo = s.replayDelivered(sub, upTo)
	}
	if !sub.isWanted() {
		return false
	}`, `	if !sub.isWanted() {
		return false
	}
	sub.state = live
	for f.deliveredOffset > upTo && sub.isWanted() {
		upTo = s.replayDelivered(sub, upTo)
	}
	sub.state = catchingUp`},
	{"gap before live", "messages that are delivered during a join are missing",
		"core", "chat/core/catchup.go",
		`	for f.deliveredOffset > upTo && sub.isWanted() {`, `	for f.deliveredOffset > upTo && sub.isWanted() && false {`},
	{"refused and delivered", "a message that the disk refused is delivered",
		"core", "chat/core/deliver.go",
		`	if f.batchErr == nil && len(f.batchPosts) > 0 {`, `	if len(f.batch.Lines) == len(f.batchPosts) || f.batchErr == nil && len(f.batchPosts) > 0 {`},
	{"sent twice", "messages that are stored together are sent twice",
		"core", "chat/core/deliver.go",
		`	by.SendAll(d.outgoing)
`, `	by.SendAll(d.outgoing)
	if len(d.conversation.batchPosts) > 1 {
		by.SendAll(d.outgoing)
	}
`},
	{"in flight is received", "what was in flight when a client closed counts as received",
		"core", "chat/core/session.go",
		`		return acknowledged
`, `		return acknowledged || true
`},
	{"written is received", "what was written to a socket counts as received: it is not replayed",
		"core", "chat/core/catchup.go",
		`!written || condition == ifAcknowledged && !acked`, `!written || condition == ifAcknowledged && !acked && false`},
	{"kicked and subscribed", "another device of a user that was kicked receives messages",
		"core", "chat/core/room.go",
		`	for _, s := range u.sessions {
		r.unsubscribe(s)`, `	for _, s := range u.sessions[:1] {
		r.unsubscribe(s)`},
	{"ban ignored", "a guest that is banned joins the room",
		"core", "chat/core/join.go",
		`	case r.isBanned(u):`, `	case r.isBanned(u) && false:`},
	{"answers overtake", "the answer to a command comes before that to an earlier message",
		"core", "chat/core/session.go",
		`	if n == 0 || n < maxPendingMessages && s.continuesPending(m) {`, `	if n < maxPendingMessages {`},
	{"history runs ahead", "a message is in a history, and is delivered after it",
		"core", "chat/core/history.go",
		`	end := f.waitDeliveredOffset(s.task)
	show`, `	end := f.log.Committed()
	show`},
	{"handover forgets", "a client receives messages again after a handover",
		"core", "chat/core/handover_state.go",
		`				st.Rooms[r.name] = sub.sentUpTo`, `				st.Rooms[r.name] = 0`},

	{"unsynced batch", "a message is acknowledged before it is on the disk",
		"core", "chat/log/append.go",
		`		return l.refuse(l.diskError("stat the last segment", err))
	}
	written`, `		return l.refuse(l.diskError("stat the last segment", err))
	}
	if st.Size > 0 {
		return l.offsets.setCommitted(min(l.offsets.end(), l.activeBase+st.Size))
	}
	written`},
	{"unsynced first name", "the first messages of a room are lost with the name of their file",
		"core", "chat/log/recover.go",
		`	if err := l.files().SyncDir(l.dir); err != nil {
		return l.diskError("sync the names`, `	if next == 0 { // the name that was synced is given anew
		_ = l.disk.Remove(l.segmentPath(0))
		if f, err := l.disk.OpenFile(l.segmentPath(0), os.O_RDWR|os.O_CREATE, writableMode); err == nil {
			f.Close()
		}
	} else if err := l.files().SyncDir(l.dir); err != nil {
		return l.diskError("sync the names`},
	{"unsynced state", "a change of a room is acknowledged, and its contents are not on the disk",
		"core", "internal/durable/replace.go",
		`err == nil && !w.Unsynced {
		err = f.Sync()`, `err == nil && w.Unsynced {
		err = f.Sync()`},
	{"unsynced removal", "messages that were removed by age or size come back",
		"core", "chat/log/retain.go",
		`	if err := l.files().SyncDir(l.dir); err != nil {
		return removed, l.diskError("remove a segment", err)
	}
`, ``},
	{"unsynced deletion", "a room that was deleted comes back",
		"core", "chat/internal/storage/storage.go",
		`d.files().SyncDir(d.path(data.Rooms)); err != nil {`, `d.disk.Chmod(trash, 0o700); err != nil {`},
	{"unsynced redaction", "the text of a message that was deleted comes back",
		"core", "chat/log/redact.go",
		`	return l.files().SyncDir(l.dir)`, `	return nil`},
	{"unsynced marker", "a read marker that was acknowledged moves back",
		"core", "chat/account/marks.go",
		`files.Revertible, files.Unsynced = !save, !save && !t.hasSaved()`, `files.Revertible, files.Unsynced = true, true`},
}
