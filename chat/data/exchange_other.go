//go:build !linux

package data

func exchange(rooms, old, name string) error { return moveAndLink(rooms, old, name) }
