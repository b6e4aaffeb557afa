package result

// Chat says whether the run was about chat servers. Its connections are members of a room, and a
// message of such a run is a delivery: what one member says and one other is told. In a replay it
// is a message of the history.
func (p Plan) Chat() bool { return IsChat(p.Workload) }

// IsChat says whether a workload is served to the members of rooms.
func IsChat(workload string) bool { return workload == "chat" }

// Rooms is what a load of members who talk has beside the others' settings.
type Rooms struct {
	// instead of talking: messages of a history that newcomers read one after the other
	Replay int    `json:"replay,omitempty"`
	Caps   string `json:"caps,omitempty"` // capabilities that members ask for, by commas
}
