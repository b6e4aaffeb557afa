package main

type chatCmd struct {
	Serve   chatServeCmd   `cmd:"" help:"Run a chat that every IRC client can use; example: weir chat serve --data chat"`
	Upgrade chatUpgradeCmd `cmd:"" help:"Have a server go on with a newer program, without a connection being dropped; example: weir chat upgrade --data chat"`
	Connect chatConnectCmd `cmd:"" help:"Talk in a chat on this terminal; example: weir chat connect -a ann -r '#garden'"`
	User    chatUserCmd    `cmd:"" help:"Manage accounts and bans; example: weir chat user add ann --role admin --data chat"`
	Invite  chatInviteCmd  `cmd:"" help:"Make codes with which people make accounts for themselves; example: weir chat invite --data chat"`
	Room    chatRoomCmd    `cmd:"" help:"See, change and delete rooms; example: weir chat room list --data chat"`
	Log     chatLogCmd     `cmd:"" help:"Look into the logs of rooms: what they hold, and what is wrong with them."`
	Export  chatExportCmd  `cmd:"" help:"Write messages as JSON lines or text; example: weir chat export --data chat > chat.jsonl"`
	Import  chatImportCmd  `cmd:"" help:"Take back what was exported; example: weir chat import chat.jsonl --data chat"`
	Backup  chatBackupCmd  `cmd:"" help:"Copy a chat while it runs, and bring a copy back; example: weir chat backup --data chat --to backup.tar.gz"`
	Upload  chatUploadCmd  `cmd:"" help:"List and remove files that people share; example: weir chat upload list --data chat"`
	Search  chatSearchCmd  `cmd:"" help:"Find messages by their words; example: weir chat search harbour from:ann --data chat"`
}
