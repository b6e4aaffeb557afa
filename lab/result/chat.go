package result

// Rooms holds the settings of a load that only chat servers have.
type Rooms struct {
	// messages in the history that each new member reads; 0: members talk instead
	Replay int `json:"replay,omitempty"`
	// IRCv3 capabilities that members request, comma-separated
	Caps string `json:"caps,omitempty"`
}
