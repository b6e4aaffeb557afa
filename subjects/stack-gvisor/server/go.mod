// gVisor by itself, so that what it needs stays out of Weir's own module. The version is of gVisor's branch "go", which is the one that go build takes.
module weir/subjects/stack-gvisor/server

go 1.26.3

replace weir => ../../..

require (
	golang.org/x/sys v0.49.0
	gvisor.dev/gvisor v0.0.0-20260701204157-69c2d17aea96
	weir v0.0.0
)

require (
	github.com/google/btree v1.1.2 // indirect
	golang.org/x/exp v0.0.0-20250711185948-6ae5c78190dc // indirect
	golang.org/x/time v0.16.0 // indirect
)
