package core

import (
	"maps"
	"reflect"
	"testing"
)

const handedOver = "" // in place of a reason

// fates states for each field of a handed-over type that it is handed over, or why not.
var fates = []struct {
	of     any
	fields map[string]string
}{
	{Session{}, map[string]string{
		"peer": handedOver, "caps": handedOver, "user": handedOver, "directs": handedOver, "monitored": handedOver, "directsResumption": handedOver, "directsGap": handedOver, "metadataSubs": handedOver,
		"splitter": handedOver, "unhandled": handedOver, "registration": handedOver, "login": handedOver, "failedLogins": handedOver, "preAway": handedOver, "multiline": handedOver,
		"lastInputAt": handedOver, "liveness": handedOver,
		"svc": "another", "conn": "another", "lobbyPlace": "made anew", "pace": "looked up anew",
		"pendingMessages": "none is under way", "postWhenDelivered": "none is under way", "ownership": "no task owns it", "outputLost": "it has not ended",
		"work": "no task is unfinished", "task": "no task is unfinished", "blockedSince": "looked at anew", "replayedBytes": "counted anew",
		"pendingTarget": "none is under way", "deliveryStamp": "of a delivery", "deliveryLabeled": "of a delivery",
		"sasl": "not moved with one", "endErr": "not moved with one", "killReason": "its connection is closed",
		"replies": "sent before", "label": "of a command", "replyStart": "of a command", "replyBatch": "of a command", "deferredReply": "of a command", "afterReplies": "of a command",
	}},
	{user{}, map[string]string{
		"nick": handedOver, "name": handedOver, "host": handedOver, "realname": handedOver, "account": handedOver, "away": handedOver, "bot": handedOver,
		"invisible": handedOver, "oper": handedOver, "operAccount": handedOver, "rooms": handedOver, "invited": handedOver, "metadata": handedOver, "connectedAt": handedOver,
		"lastSpokeAt": handedOver, "quitMessageIfLost": handedOver,
		"source": "made of others", "sessions": "adopted", "walkStamp": "of a walk",
	}},
	{member{}, map[string]string{"user": handedOver, "ranks": handedOver}},
	{subscription{}, map[string]string{"session": handedOver, "conversation": handedOver, "sentUpTo": handedOver, "state": "only live ones are",
		"savedMarker": "kept again", "hasGap": handedOver}},
	{multiline{}, map[string]string{"batchRef": handedOver, "label": handedOver, "message": handedOver, "bytes": handedOver, "faultCode": handedOver}},
	{message{}, map[string]string{"command": handedOver, "target": handedOver, "lines": handedOver, "tags": handedOver, "batchID": "given at its end"}},
	{messageLine{}, map[string]string{"text": handedOver, "concat": handedOver}},
	{networkUse{}, map[string]string{"connections": "counted anew", "pace": handedOver, "searches": handedOver}},
	{token{}, map[string]string{"hash": handedOver, "account": handedOver, "expiresAt": handedOver}},
}

// A new field must be handed over, or the table must say why not.
func TestEveryFieldIsHandedOverOrExcluded(t *testing.T) {
	for _, f := range fates {
		of, left := reflect.TypeOf(f.of), maps.Clone(f.fields)
		for i := range of.NumField() {
			name := of.Field(i).Name
			if _, known := left[name]; !known {
				t.Errorf("%s.%s is new: put it into handover_state.go and its name here, or say here why not", of.Name(), name)
			}
			delete(left, name)
		}
		for name := range left {
			t.Errorf("%s.%s no longer exists: remove it here", of.Name(), name)
		}
	}
}
