package main

type chatCmd struct {
	User   chatUserCmd   `cmd:"" help:"Manage accounts and bans; example: weir chat user add ann --role admin --data chat"`
	Invite chatInviteCmd `cmd:"" help:"Make codes with which people make accounts for themselves; example: weir chat invite --data chat"`
}
