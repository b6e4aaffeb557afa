package chat

import (
	"maps"
	"reflect"
	"testing"
)

const handedOver = "" // in place of a reason

// fates say of each field of what a service is made of that it is handed over, or why not.
var fates = []struct {
	of     any
	fields map[string]string
}{
	{session{}, map[string]string{
		"peer": handedOver, "caps": handedOver, "user": handedOver, "direct": handedOver, "monitors": handedOver, "resumed": handedOver, "subs": handedOver,
		"split": handedOver, "in": handedOver, "reg": handedOver, "login": handedOver, "failures": handedOver, "away": handedOver, "multi": handedOver,
		"heard": handedOver, "asked": handedOver,
		"svc": "another", "conn": "another", "place": "made anew", "pace": "looked up anew",
		"pending": "none is under way", "waiting": "none is under way", "busy": "not at the desk", "gone": "not at the desk", "lost": "it has not ended",
		"job": "not at the desk", "stuffed": "looked at anew", "replayed": "counted anew",
		"seeks": "not at the desk", "lastRoom": "none is under way", "launched": "none is under way", "said": "of a delivery", "labeled": "of a delivery",
		"sasl": "not moved with one", "over": "not moved with one", "killed": "its connection is closed", "fresh": "it is posted anyway",
		"out": "sent before", "label": "of a command", "from": "of a command", "batch": "of a command", "later": "of a command", "behind": "of a command",
	}},
	{user{}, map[string]string{
		"nick": handedOver, "name": handedOver, "host": handedOver, "real": handedOver, "account": handedOver, "away": handedOver, "bot": handedOver,
		"invisible": handedOver, "oper": handedOver, "rooms": handedOver, "invited": handedOver, "metadata": handedOver, "since": handedOver,
		"spoke": handedOver, "parting": handedOver,
		"source": "made of others", "sessions": "adopted", "stamp": "of a walk",
	}},
	{member{}, map[string]string{"user": handedOver, "ranks": handedOver}},
	{seat{}, map[string]string{"session": handedOver, "feed": handedOver, "seen": handedOver, "live": "only these are", "left": "is none",
		"said": "of a delivery", "labeled": "of a delivery", "kept": "kept again"}},
	{multiline{}, map[string]string{"ref": handedOver, "label": handedOver, "message": handedOver, "bytes": handedOver, "bad": handedOver}},
	{message{}, map[string]string{"verb": handedOver, "target": handedOver, "lines": handedOver, "tags": handedOver, "batch": "given at its end"}},
	{part{}, map[string]string{"text": handedOver, "concat": handedOver}},
	{visitors{}, map[string]string{"n": "counted anew", "pace": handedOver, "searches": handedOver}},
	{token{}, map[string]string{"sum": handedOver, "account": handedOver, "until": handedOver}},
	{filehost{}, map[string]string{"tokens": handedOver, "checking": "ends beside", "mu": "a lock"}},
}

// A field that is added to what a service is made of has to be handed over, or it has to be said
// why not.
func TestEveryFieldHasAFateAtAHandOver(t *testing.T) {
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
			t.Errorf("%s.%s is no more", of.Name(), name)
		}
	}
}
