package irc

import "strconv"

// Limits are the numbers that ISUPPORT tells clients.
type Limits struct {
	Network string
	Rooms   int    // a user may be in
	History int    // lines of one CHATHISTORY
	Monitor int    // nicks on a list
	Bans    int    // a room
	Targets int    // of one message
	Upload  string // where files are uploaded; "" nowhere
}

// Multiline is the value of draft/multiline: bytes and lines of one message.
const (
	MultilineBytes = 12288
	MultilineLines = 32
)

// ISupport is what the server tells with 005, a token a word.
func ISupport(l Limits) []string {
	n := strconv.Itoa
	targets := n(l.Targets)
	words := []string{
		"AWAYLEN=" + n(MaxAway), "BOT=B", "CASEMAPPING=ascii",
		"CHANLIMIT=#:" + n(l.Rooms), "CHANMODES=" + RoomLists + "," + RoomKeyed + "," + RoomLimited + "," + RoomFlags,
		"CHANNELLEN=" + n(MaxRoom), "CHANTYPES=#", "CHATHISTORY=" + n(l.History), "draft/CHATHISTORY=" + n(l.History),
		"ELIST=CMNTU", "HOSTLEN=64", "KEYLEN=" + n(MaxKey), "KICKLEN=" + n(MaxTopic), "MAXLIST=b:" + n(l.Bans), "MODES",
		"MONITOR=" + n(l.Monitor), "MSGREFTYPES=msgid,timestamp", "NAMELEN=" + n(MaxReal), "NETWORK=" + l.Network, "NICKLEN=" + n(MaxNick),
		"PREFIX=(" + RoomRanks + ")" + RankPrefixes, "SAFELIST", "STATUSMSG=" + RankPrefixes,
		"TARGMAX=JOIN:,PART:,LIST:,NAMES:1,KICK:1,WHOIS:1,WHOWAS:,PRIVMSG:" + targets + ",NOTICE:" + targets + ",TAGMSG:" + targets + ",MONITOR:",
		"TOPICLEN=" + n(MaxTopic), "USERLEN=" + n(MaxUser), "UTF8ONLY", "WHOX",
	}
	if l.Upload != "" {
		words = append(words, "draft/FILEHOST="+l.Upload, "soju.im/FILEHOST="+l.Upload)
	}
	return words
}
