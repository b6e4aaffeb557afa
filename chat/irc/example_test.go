package irc_test

import (
	"fmt"
	"log"

	"weir/chat/irc"
)

// Example cuts bytes of a connection into lines, parses them, and answers one.
func Example() {
	var splitter irc.Splitter
	received := []byte("PING :42\r\n@+typing=active TAGMSG #Garden\r\nPRIVMSG #gar")
	for {
		line, rest, whole, err := splitter.Next(received)
		if err != nil {
			log.Fatal(err)
		}
		if !whole {
			fmt.Printf("wait for the rest of %q\n", rest)
			return
		}
		received = rest
		message, err := irc.Parse(line)
		if err != nil {
			log.Fatal(err)
		}
		if message.Command == "PING" {
			fmt.Printf("%q\n", irc.AppendLine(nil, "", "PONG", "irc.example.org", message.Params[0]))
			continue
		}
		fmt.Println(message.Command, irc.Fold(message.Params[0]))
	}
	// Output:
	// "PONG irc.example.org :42\r\n"
	// TAGMSG #garden
	// wait for the rest of "PRIVMSG #gar"
}
