package irc

import (
	"os"
	"strings"
	"testing"
)

// docs/protocol.md says what there is: every command, capability and token, each as it is written
// on the wire.
func TestTheDocumentNamesAllCommandsAndCapabilities(t *testing.T) {
	text, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, spoken, _ := strings.Cut(string(text), "\n## What is spoken\n")
	spoken, _, _ = strings.Cut(spoken, "\n## ")
	named := func(word string) {
		if !strings.Contains(spoken, "`"+word+"`") {
			t.Errorf("docs/protocol.md, What is spoken: got no `%s`, want every command and capability named", word)
		}
	}
	for command := range Commands {
		named(command)
	}
	for _, capability := range capNames {
		named(capability)
	}
	for _, token := range ISupport(Limits{Upload: "x"}) {
		word, _, _ := strings.Cut(token, "=")
		named(word)
	}
	for _, mode := range RoomLists + RoomKeyed + RoomLimited + RoomFlags + RoomRanks {
		named(string(mode))
	}
}
