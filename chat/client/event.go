package client

// Kind is what happened.
type Kind int

// The kinds of events.
const (
	StateChanged Kind = iota // the connection's; Text says why, if it is known
	NewMessage               // Conversation has one more, Message
	Changed                  // Conversation's members, topic, marker, or older messages
	Opened                   // Conversation is new, or was joined
	Closed                   // Conversation was left and is gone
	Trouble                  // a command failed, or can't be done; Text says why
	Told                     // the server says Text, of Conversation if that is not nil
	Searched                 // Found answers a search, the oldest first
	Token                    // Text is good for sending one file
)

// Event is something that happened. The pointers are the client's own: read them before its next
// method is called.
type Event struct {
	Kind         Kind
	Conversation *Conversation
	Message      *Message
	Text         string // from the network as it came: clean it before it is shown
	Command      string // Trouble: the command that failed, "" if it is not known
	Mine         bool   // Opened, because this client asked for it
	Found        []Found
}

func (c *Client) emit(e Event) { c.events = append(c.events, e) }
