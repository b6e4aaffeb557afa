// gVisor by itself, so that what it needs stays out of Weir's own module.
module weir/subjects/wireguard/compare

go 1.26.0

replace weir => ../../..

require (
	golang.org/x/crypto v0.58.0
	golang.zx2c4.com/wireguard v0.0.0-20250521234502-f333402bd9cb
	weir v0.0.0
)

require (
	github.com/google/btree v1.1.2 // indirect
	github.com/vishvananda/netlink v1.3.1 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/time v0.16.0 // indirect
	golang.zx2c4.com/wintun v0.0.0-20230126152724-0fa3db229ce2 // indirect
	gvisor.dev/gvisor v0.0.0-20250503011706-39ed1f5ac29c // indirect
)
