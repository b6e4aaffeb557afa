package irc

import "strconv"

// Limits are the numbers in ISUPPORT.
type Limits struct {
	Network string
	Rooms   int    // rooms that a user may be in
	History int    // lines in the answer to one CHATHISTORY
	Monitor int    // nicks in a MONITOR list
	Bans    int    // bans of a room
	Targets int    // targets of one message
	Upload  string // URL of uploads; "": none
}

// Limits of draft/multiline: bytes and lines of one message.
const (
	MultilineBytes = 12288
	MultilineLines = 32
)

// ISupport returns the tokens of RPL_ISUPPORT (005).
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
