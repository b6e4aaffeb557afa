package result

// Chat reports whether the subjects of the run are chat servers. The connections of such a run are
// members of a room. A message of the run is a delivery of one member's message to one other
// member, or in a replay one message of the history.
func (p Plan) Chat() bool { return IsChat(p.Workload) }

// IsChat reports whether the subjects of a workload are chat servers.
func IsChat(workload string) bool { return workload == "chat" }

// Rooms holds the settings of a load that only chat servers have.
type Rooms struct {
	// messages in the history that each new member reads; 0: members talk instead
	Replay int `json:"replay,omitempty"`
	// IRCv3 capabilities that members request, comma-separated
	Caps string `json:"caps,omitempty"`
}
