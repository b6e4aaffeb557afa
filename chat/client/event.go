package client

// Kind is the kind of an event.
type Kind int

// The kinds of events.
const (
	StateChanged Kind = iota // the connection's state changed; Text is the reason, if known
	NewMessage               // Message was added to Conversation
	// the members, topic, read marker or older messages of Conversation changed
	Changed
	Opened        // Conversation was created or joined
	Closed        // Conversation was left and removed
	CommandFailed // a command failed or cannot be sent; Text is the reason
	ServerText    // a text from the server, about Conversation if that is not nil
	SearchResults // Found holds the results of a search, oldest first
	UploadToken   // Text is a token for the upload of one file
)

// Event is a change of the client's state. The client owns what the pointers refer to: read it
// before the next method call.
type Event struct {
	Kind         Kind
	Conversation *Conversation
	Message      *Message
	Text         string // unsanitized text from the network
	Command      string // CommandFailed: the command, "" if unknown
	Requested    bool   // Opened: because the user requested it
	Results      []SearchResult
}

func (c *Client) emit(e Event) { c.events = append(c.events, e) }
