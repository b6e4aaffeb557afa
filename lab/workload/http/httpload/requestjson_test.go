package httpload

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestBinaryBodiesSurviveJSON: a run keeps its requests as JSON, from which it is resumed.
func TestBinaryBodiesSurviveJSON(t *testing.T) {
	for _, want := range []Request{
		{Method: "PUT", Path: "/a", Body: "plain \u00fc", Check: Check{Body: ref("plain")}},
		{Method: "PUT", Path: "/a", Headers: []string{"A: b"}, Body: "\x00\xff\xfe", Check: Check{Body: ref("\xff"), Length: ref[int64](1)}},
		{Body: "a", Check: Check{Body: ref("")}},
	} {
		text, err := json.Marshal([]Request{want})
		var got []Request
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("got %+v, error %v, want %+v (JSON %s)", got, err, want, text)
		}
		if strings.Contains(string(text), "BodyHex\":\"706c") {
			t.Errorf("got %s, want the text as it is", text)
		}
	}
	var r Request
	if err := json.Unmarshal([]byte(`{"BodyHex":"0g"}`), &r); err == nil || !strings.Contains(err.Error(), "hexadecimal") {
		t.Errorf("got error %v, want one that says hexadecimal", err)
	}
}
