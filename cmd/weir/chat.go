package main

type chatCmd struct {
	Serve   chatServeCmd   `cmd:"" help:"Run a chat that every IRC client can use; example: weir chat serve --data chat"`
	Upgrade chatUpgradeCmd `cmd:"" help:"Replace a running server by a newer program and keep its connections; example: weir chat upgrade --data chat"`
	Connect chatConnectCmd `cmd:"" help:"Chat on this terminal; example: weir chat connect -a ann -r '#garden'"`
	User    chatUserCmd    `cmd:"" help:"Manage accounts and bans; example: weir chat user add ann --role admin --data chat"`
	Invite  chatInviteCmd  `cmd:"" help:"Create invite codes, each good for one new account; example: weir chat invite --data chat"`
	Room    chatRoomCmd    `cmd:"" help:"List, change and delete rooms; example: weir chat room list --data chat"`
	Log     chatLogCmd     `cmd:"" help:"Check, repair and measure the logs of rooms."`
	Export  chatExportCmd  `cmd:"" help:"Export messages as JSON lines or text; example: weir chat export --data chat > chat.jsonl"`
	Import  chatImportCmd  `cmd:"" help:"Import exported messages; example: weir chat import chat.jsonl --data chat"`
	Backup  chatBackupCmd  `cmd:"" help:"Back up a chat, also while it runs, and restore a backup; example: weir chat backup --data chat --to backup.tar.gz"`
	Upload  chatUploadCmd  `cmd:"" help:"List and remove uploaded files; example: weir chat upload list --data chat"`
	Search  chatSearchCmd  `cmd:"" help:"Search messages; example: weir chat search harbour from:ann --data chat"`
}
