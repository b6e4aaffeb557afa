// The programs of docs/moving-from-gvisor.md. gVisor by itself, so that what it needs stays out of Weir's own module.
module weir/subjects/stack-gvisor/moving

go 1.26.3

replace weir => ../../..

require (
	gvisor.dev/gvisor v0.0.0-20260701204157-69c2d17aea96
	weir v0.0.0
)

require (
	github.com/google/btree v1.1.2 // indirect
	github.com/vishvananda/netlink v1.3.1 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/exp v0.0.0-20250711185948-6ae5c78190dc // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)
